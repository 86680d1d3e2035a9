"""Responses streams, judged and mended: output items, each added, filled and closed under one identity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.ending import IN_BAND_ERROR
from toolstream_core.defects.framing import RESTARTED_STREAM, SEQUENCE_NUMBERS
from toolstream_core.defects.identity import (
    DOUBLED_CALL,
    ITEM_PER_FRAGMENT,
    MISSING_INDEX,
    MISSING_START,
    REUSED_INDEX,
)
from toolstream_core.defects.menders.responses_ending import TERMINAL, Endings
from toolstream_core.defects.menders.responses_item import Item
from toolstream_core.defects.menders.responses_repeats import Repeats, Waiting
from toolstream_core.defects.stage import Context, Mender
from toolstream_core.dialects import request
from toolstream_core.model import Kind, Phase
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import Heard, OpenCall
    from toolstream_core.model import Event, Fragment, Json, Passed
    from toolstream_core.wire.frame import Frame

# Which call an event belongs to is decided by `calls/responses.py`; here every call has an `Item`, which knows what
# the client has been told: added or not, the arguments given in deltas, whether they were said whole, whether it
# was closed. An item that was never added is kept back until an event says its name, and then said from the start.
# Events that are put in take sequence numbers of their own, so those behind them are counted on.

type Closing = tuple[dict[str, Json], Item]
type Held = tuple[Closing | None, list[Waiting]]

DELTA, DONE = "response.function_call_arguments.delta", "response.function_call_arguments.done"
ADDED, CLOSED = "response.output_item.added", "response.output_item.done"


class ResponsesMender(Mender):
    """Judges and mends one Responses stream."""

    def __init__(self, context: Context) -> None:
        """As `Mender`."""
        super().__init__(context)
        self.context = context
        self.items: list[Item] = []
        self.places: dict[int, Json] = {}
        """The output items of any kind as they were closed, by their place."""
        self.taken: set[int] = set()
        """Places that the client knows."""
        self.created: dict[str, Json] = {}
        """The response as `response.created` had it."""
        self.number = 0
        self._by_call: dict[int, Item] = {}
        self._copies: set[str] = set()
        """Ids of items that only say a call again, or a piece of it."""
        self._out: list[Frame] = []
        self._ending = Endings(self)
        self.repeats = Repeats(self)
        self._sequence: int | None = None
        self._counting = False
        self._restarted = False
        """Whether another response began, so that nothing is what it seems any more."""
        self._held: Closing | None = None
        """An event that closes a call before its arguments are whole: waits for the next event."""
        self._unsent: Held | None = None
        """What was held when an event came that is still being dealt with."""
        self._earlier: frozenset[str] | None = None

    @property
    def holding(self) -> bool:
        """As `Stage.holding`; also where events are counted anew, which concerns all of them."""
        return self._counting or self._held is not None or self.repeats.any_wait

    @property
    def earlier_ids(self) -> frozenset[str]:
        """Ids of the calls of earlier turns, from the request."""
        if self._earlier is None:
            self._earlier = request.earlier_ids(self.context.exchange.request)
        return self._earlier

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        waits = self.repeats.waits(event, heard)
        self._unsent = self._held, self.repeats.waiting
        if waits:
            gone = [frame for waiting in self.repeats.ready() for frame in self._one(*waiting)]
        else:
            gone = self._one(event, heard)
        self._unsent = None
        return gone

    def minds(self, call: OpenCall) -> bool:
        """As `Stage.minds`."""
        item = self._by_call.get(id(call))
        if item is None or self.holding or self._restarted or self.repeats.repeats(call):
            return True
        return not item.amid

    def went_by(self, call: OpenCall, passed: Passed) -> None:
        """As `Stage.went_by`."""
        self.number = passed.first + passed.events - 1
        self._sequence = passed.counter if passed.counter is not None else self._sequence
        self._by_call[id(call)].went_by(passed.text, passed.last)

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`."""
        self._unsent = self._held, self.repeats.waiting
        gone = [frame for waiting in self.repeats.ready(ended=True) for frame in self._one(*waiting)]
        self._out = []
        self._settle(())
        self._ending.at_end(clean=clean and not self._restarted)
        if self._out:
            self.audit(self.number, [], self._out)
        self._unsent = None
        return [*gone, *self._out]

    def release(self) -> Iterable[Frame]:
        """As `Stage.release`: after a bug of ours, what was held when the event came at which it showed."""
        held, waiting = self._unsent or (self._held, self.repeats.waiting)
        first = [] if held is None else [self.context.writer.make(held[0], self.number, CLOSED)]
        return [*first, *(event.frame for event, _ in waiting)]

    def _one(self, event: Event, heard: Sequence[Heard]) -> list[Frame]:
        """What goes on for an event."""
        frame, payload = event.frame, event.frame.json
        if frame.data is None or self._restarted:
            return [frame]
        self._out, self.number = [], frame.number
        self._settle(heard)
        if event.said.error:
            self._ending.failed = True
            self.tell(IN_BAND_ERROR, self.number, f"the provider reports an error: {event.said.error}")
        if not isinstance(payload, dict):
            return [*self._out, frame]
        changed = self._judged(payload, str(payload.get("type", frame.name)), heard)
        if changed is not None:
            changed = self._counted(changed)
            self._out.append(frame if changed is payload else self._rewritten(frame, changed))
        if len(self._out) != 1 or self._out[0] is not frame:
            self.audit(self.number, [frame], self._out)
        return self._out

    def _settle(self, heard: Sequence[Heard]) -> None:
        """An event that closes a call too early goes on, unless the call goes on in another item."""
        if self._held is None:
            return
        (payload, item), self._held = self._held, None
        if heard and heard[0].call is item.call and heard[0].fragment.phase is Phase.OPEN:
            item.closed = False
            return
        self._out.append(self.context.writer.make(payload, self.number, CLOSED))

    def put(self, payload: dict[str, Json]) -> None:
        """Let a new event go on."""
        if self._sequence is not None:
            self._counting = True
            self._sequence += 1
            payload = {**payload, "sequence_number": self._sequence}
        self._out.append(self.context.writer.make(payload, self.number, str(payload["type"])))

    def free_place(self) -> int:
        """The place that comes next."""
        return max(self.taken, default=-1) + 1

    def knows(self, call: OpenCall) -> bool:
        """Whether there is a state of the call."""
        return id(call) in self._by_call

    def item_of(self, call: OpenCall) -> Item:
        """The state of a call."""
        item = self._by_call.get(id(call))
        if item is None:
            item = self._by_call[id(call)] = Item(self, call)
            self.items.append(item)
        return item

    def _rewritten(self, frame: Frame, payload: dict[str, Json]) -> Frame:
        return self.context.writer.rewrite(frame, payload)

    def _judged(self, payload: dict[str, Json], kind: str, heard: Sequence[Heard]) -> dict[str, Json] | None:
        """The event as the client is to get it; `None` where it gets none."""
        if kind == "response.created":
            if self.created:
                self.tell(RESTARTED_STREAM, self.number, "a second response starts within the stream")
                self._restarted = True
                return payload
            response = payload.get("response")
            self.created = response if isinstance(response, dict) else {}
        if kind in TERMINAL:
            return self._ending.terminal(payload, kind, heard)
        if not heard or heard[0].call.kind is not Kind.FUNCTION:
            if kind in {ADDED, CLOSED}:
                self._other_item(payload, closed=kind == CLOSED)
            return payload
        fragment, call = heard[0]
        if self.repeats.drops(fragment, call):
            return None
        own = look.text(look.get(payload, "item", "id") if kind in {ADDED, CLOSED} else payload.get("item_id"))
        if fragment.phase is Phase.OPEN:
            return self._added(payload, call, own)
        if isinstance(own, str) and own in self._copies:
            return self._of_copy(payload, kind, call)
        return self._of_item(payload, kind, fragment, self.item_of(call))

    def _other_item(self, payload: dict[str, Json], *, closed: bool) -> None:
        place = look.integer(payload.get("output_index"))
        if isinstance(place, int):
            self.taken.add(place)
            if closed:
                self.places[place] = payload.get("item")

    def _added(self, payload: dict[str, Json], call: OpenCall, own: object) -> dict[str, Json] | None:
        item = self.item_of(call)
        if item.added or item.known:
            again = item.whole and not call.arguments.empty
            item.in_pieces = item.in_pieces or not again
            row = DOUBLED_CALL if again else ITEM_PER_FRAGMENT
            message = "the call was said before" if again else "a fragment of the call comes as an item of its own"
            if isinstance(own, str):
                self._copies.add(own)
            return None if self.tell(row, self.number, message, call) else payload
        place = look.integer(payload.get("output_index"))
        item.known = True
        item.place = place if isinstance(place, int) else self.free_place()
        mend = False
        if not isinstance(place, int):
            mend = self.tell(MISSING_INDEX, self.number, "the item is added without output_index", call)
        elif place in self.taken:
            mend = self.tell(REUSED_INDEX, self.number, f"output_index {place} is that of an earlier item", call)
            item.place = self.free_place() if mend else place
        self.taken.add(item.place)
        changed = item.opened(payload)
        item.moved = mend
        return {**changed, "output_index": item.place} if mend else changed

    def _of_copy(self, payload: dict[str, Json], kind: str, call: OpenCall) -> dict[str, Json] | None:
        """An event of an item that only says a call again, or a piece of it."""
        item = self.item_of(call)
        if not (self.on(DOUBLED_CALL) or self.on(ITEM_PER_FRAGMENT)):
            return payload
        if item.closed or kind in {DONE, CLOSED}:
            return None
        changed = item.delta(payload)
        return {**changed, "item_id": item.id, "output_index": item.place}

    def _of_item(self, payload: dict[str, Json], kind: str, fragment: Fragment, item: Item) -> dict[str, Json] | None:
        if not item.added and not item.known:
            message = "the item was never added"
            if not self.tell(MISSING_START, self.number, message, item.call):
                item.known = True
                return payload
            if kind != CLOSED or not item.call.name:
                return None
            item.say(payload.get("item"), fragment)
            return None
        changed = item.placed(payload, kind)
        if kind == DELTA:
            return item.delta(changed)
        if kind == DONE:
            return item.said_whole(changed)
        closing = item.closing(changed)
        if item.whole and not item.call.arguments.empty:
            return closing
        if not self.on(ITEM_PER_FRAGMENT):
            return closing
        self._held = (self._counted(closing), item)
        return None

    def _counted(self, payload: dict[str, Json]) -> dict[str, Json]:
        """The event with a sequence number above the last one's, where the stream has them."""
        number = payload.get("sequence_number")
        if not isinstance(number, int):
            return payload
        last, self._sequence = self._sequence, number
        if last is None or number > last:
            return payload
        if not self._counting:
            message = f"sequence number {number} after {last}"
            self._counting = self.tell(SEQUENCE_NUMBERS, self.number, message)
        if not self._counting:
            return payload
        self._sequence = last + 1
        return {**payload, "sequence_number": last + 1}
