"""Output items of a Responses stream: each added, filled and closed under one identity."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.defects.ending import REPEATED_START, REPEATED_STOP
from toolstream_core.defects.identity import (
    DOUBLED_CALL,
    ITEM_PER_FRAGMENT,
    LATE_NAME,
    MISSING_INDEX,
    MISSING_START,
    REUSED_INDEX,
)
from toolstream_core.defects.menders.responses_ending import Endings
from toolstream_core.defects.menders.responses_events import CLOSED, DELTA, DONE
from toolstream_core.defects.menders.responses_item import Item
from toolstream_core.defects.menders.responses_out import EventsMender
from toolstream_core.defects.menders.responses_repeats import Repeats
from toolstream_core.defects.wording import REPLAYED_ARGUMENTS
from toolstream_core.dialects import request
from toolstream_core.wire import look

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.menders.responses_repeats import Waiting
    from toolstream_core.defects.menders.told import Told
    from toolstream_core.defects.stage import Context
    from toolstream_core.model import Json
    from toolstream_core.wire.frame import Frame

MAX_KEPT = 8 * 1024 * 1024
"""Bytes of the events of one item above which they go on, although nobody can be told whose they are."""

_TEXT = frozenset({"message", "reasoning"})

type Closing = tuple[dict[str, Json], Item]


class Delta(NamedTuple):
    """A delta on its way; one that may still change waits for the next event."""

    frame: Frame
    payload: dict[str, Json]
    item: Item
    told: Told | None


class Held(NamedTuple):
    """What was held back when an event came."""

    closing: Closing | None
    delta: Delta | None
    waiting: list[Waiting]


class ItemsMender(EventsMender):
    """Judges and mends output items; how the response begins, ends and waits is decided in the class made on it."""

    def __init__(self, context: Context) -> None:
        """As `Mender`."""
        super().__init__(context)
        self.items: list[Item] = []
        self.places: dict[int, Json] = {}
        """The output items of any kind as they were closed, by their place."""
        self.taken: set[int] = set()
        """Places that the client knows."""
        self.others_open: dict[str, bool] = {}
        """Places of other items that nothing closed, nor a call behind them; and whether they are text."""
        self.created: dict[str, Json] = {}
        """The response as `response.created` had it."""
        self._by_call: dict[int, Item] = {}
        self._copies: set[str] = set()
        """Ids of items that only say a call again, or a piece of it."""
        self._ending = Endings(self)
        self.repeats = Repeats(self)
        self.as_it_comes = False
        """Whether nothing is judged any more: another response began, or the begin of this one went to an earlier
        connection."""
        self._cut: Frame | None = None
        """The last event, which the body's end cut off."""
        self._held: Closing | None = None
        """An event that closes a call before its arguments are whole: waits for the next event."""
        self._delta: Delta | None = None
        self._unsent: Held | None = None
        """What was held when an event came that is still being dealt with."""
        self._begun = False
        self._spoken: list[Item] = []
        """Items whose kept events are replaced by what goes on for the event that is dealt with."""
        self._earlier: frozenset[str] | None = None

    @property
    def earlier_ids(self) -> frozenset[str]:
        """Ids of the calls of earlier turns, from the request."""
        if self._earlier is None:
            self._earlier = request.earlier_ids(self.context.exchange.request)
        return self._earlier

    def free_place(self) -> int:
        """The place that comes next."""
        return max(self.taken, default=-1) + 1

    def next_place(self, index: object) -> int:
        """The place of an item that nobody has heard of: `index` where that is free and in turn."""
        if isinstance(index, int) and index not in self.taken and not self._out_of_turn(index):
            return index
        return self.free_place()

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

    def _other_item(self, payload: dict[str, Json], *, closed: bool) -> None:
        place = look.integer(payload.get("output_index"))
        if closed:
            self.others_open.pop(str(place), None)
        else:
            self.others_open[str(place)] = look.get(payload, "item", "type") in _TEXT
        if isinstance(place, int):
            self.taken.add(place)
            if closed:
                self.places[place] = payload.get("item")

    def _added(self, frame: Frame, payload: dict[str, Json], call: OpenCall, own: object) -> dict[str, Json] | None:
        item = self.item_of(call)
        if item.added:
            return None if self._added_again(item, own) else payload
        if not call.name and self.on(LATE_NAME):
            item.unnamed = True
            self._keep(item, frame)
            return None
        self._spoken.append(item)
        self.others_open = {place: text for place, text in self.others_open.items() if not text}
        item.named()
        place = look.integer(payload.get("output_index"))
        item.known = True
        item.place = place if isinstance(place, int) else self.free_place()
        mend = False
        if not isinstance(place, int):
            mend = self.tell(MISSING_INDEX, self.number, "the item is added without output_index", call)
        elif place in self.taken:
            mend = self.tell(REUSED_INDEX, self.number, f"output_index {place} is that of an earlier item", call)
            item.place = self.free_place() if mend else place
        elif self._out_of_turn(place):
            mend, item.place = True, self.free_place()
        self.taken.add(item.place)
        changed = item.opened(payload)
        item.moved = mend
        changed = {**changed, "output_index": item.place} if mend else changed
        if item.kept:
            self._go(frame, changed)
            self._go_kept(item)
            return None
        return changed

    def _out_of_turn(self, place: int) -> bool:
        """Whether an item leaves a gap because many before it were made one."""
        return place > self.free_place() and any(item.in_pieces for item in self.items)

    def _added_again(self, item: Item, own: object) -> bool:
        """Judge an item of a call that has one; whether it is to go."""
        if own == item.id and not (item.closed or item.in_pieces):
            return self.tell(REPEATED_START, self.number, "the item is added again", item.call)
        again = item.whole and not item.call.arguments.empty
        item.in_pieces = item.in_pieces or not again
        row = DOUBLED_CALL if again else ITEM_PER_FRAGMENT
        message = "the call was said before" if again else "a fragment of the call comes as an item of its own"
        if isinstance(own, str):
            self._copies.add(own)
        return self.tell(row, self.number, message, item.call)

    def _go_kept(self, item: Item) -> None:
        """Arguments that came before their item."""
        self._counting = self._sequence is not None
        for frame in item.kept:
            payload, kind = frame.json, look.get(frame.json, "type")
            if kind == DONE:
                item.said.settle()
                self._let_delta_go()
            if isinstance(payload, dict) and kind in {DELTA, DONE}:
                changed = self._of_item(frame, payload, str(kind), item)
                if changed is not None:
                    self._go(frame, changed)

    def _of_copy(self, payload: dict[str, Json], kind: str, call: OpenCall) -> dict[str, Json] | None:
        """An event of an item that only says a call again, or a piece of it."""
        item = self.item_of(call)
        if not (self.on(DOUBLED_CALL) or self.on(ITEM_PER_FRAGMENT)):
            return payload
        if item.closed or kind in {DONE, CLOSED}:
            return None
        told = item.said.take(payload.get("delta"))
        if told is not None:
            item.said.tell(told.text)
            payload = {**payload, "delta": told.text}
        return {**payload, "item_id": item.id, "output_index": item.place}

    def _of_item(self, frame: Frame, payload: dict[str, Json], kind: str, item: Item) -> dict[str, Json] | None:
        if not item.added and not item.known:
            return self._of_unknown(frame, payload, kind, item)
        changed = item.placed(payload, kind)
        if kind == DELTA and item.said.completed and (item.done or item.closed):
            message = "a delta follows the event that says the arguments whole"
            return None if self.tell(REPLAYED_ARGUMENTS, self.number, message, item.call) else payload
        if kind == DELTA:
            told = item.said.take(changed.get("delta"), may_wait=True)
            self._let_delta_go()
            self._delta = Delta(frame, changed, item, told)
            if not item.said.waiting:
                self._let_delta_go()
            return None
        if kind == DONE:
            return item.said_whole(changed)
        if item.closed and item.says(changed):
            return None if self.tell(REPEATED_STOP, self.number, "the item is closed again", item.call) else payload
        self._held = None
        closing = item.closing(changed)
        if item.whole and not item.call.arguments.empty:
            return closing
        if not self.on(ITEM_PER_FRAGMENT):
            return closing
        self._held = (self._counted(closing), item)
        return None

    def _of_unknown(self, frame: Frame, payload: dict[str, Json], kind: str, item: Item) -> dict[str, Json] | None:
        """An event of an item that was not added, or not by its name."""
        if item.unnamed and item.call.name:
            first: Json = item.kept[0].json
            self._added(item.kept[0], first, item.call, None)
            return self._of_item(frame, payload, kind, item)
        if not item.unnamed and not self.tell(MISSING_START, self.number, "the item was not added before", item.call):
            item.known = True
            return payload
        if kind == CLOSED and item.call.name:
            item.say(payload.get("item"))
        else:
            self._keep(item, frame)
        return None

    def _keep(self, item: Item, frame: Frame) -> None:
        item.kept.append(frame)
        item.kept_bytes += len(frame.raw)
        if item.kept_bytes > MAX_KEPT:
            self.give_back(item)

    def give_back(self, item: Item) -> None:
        """Let an item's events go on as they came: nobody knows better."""
        item.known = True
        item.named()
        self._counting = self._counting or (self._sequence is not None and len(self.items) > 1)
        for frame in item.kept:
            payload = frame.json
            if isinstance(payload, dict):
                self._go(frame, payload)
        self._spoken.append(item)

    def spoken(self, item: Item) -> None:
        """An item is told from the start, in the place of its events."""
        self._spoken.append(item)

    def _let_delta_go(self) -> None:
        if self._delta is None:
            return
        (frame, payload, item, told), self._delta = self._delta, None
        if told is not None:
            item.said.tell(told.text)
            payload = payload if told.text == payload["delta"] else {**payload, "delta": told.text}
        self._go(frame, payload)
