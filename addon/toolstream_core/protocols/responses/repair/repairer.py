"""Responses streams, judged and mended: how they begin, what waits, and how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.finish import FOREIGN_FINISH, IN_BAND_ERROR, REPEATED_START, REPEATED_STOP
from toolstream_core.defects.framing import MISSING_HEAD, RESTARTED_STREAM
from toolstream_core.defects.identity import LATE_NAME, MISSING_NAME
from toolstream_core.model import Kind, Phase
from toolstream_core.protocols.responses.repair.event_types import (
    ADDED,
    CLOSED,
    CREATED,
    DELTA,
    REALTIME_DONE,
    TERMINAL,
    Tail,
    is_resumed,
    missing_head,
    tail_of,
    terminal_type,
)
from toolstream_core.protocols.responses.repair.held import Held
from toolstream_core.protocols.responses.repair.item_sequence import ItemRepairer
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, Json, SkippedRun
    from toolstream_core.protocols.responses.repair.client_item import Item
    from toolstream_core.wire.frame import Frame

# Which call an event belongs to is decided by `calls/responses.py`; here every call has an `Item`, which knows what
# the client has been told: added or not, the arguments given in deltas, whether they were said whole, whether it
# was closed. An item that was never added is kept back until an event says its name, and then said from the start.
# Events that are put in take sequence numbers of their own, so those behind them are counted on.


class ResponsesRepairer(ItemRepairer):
    """Judges and mends one Responses stream."""

    @property
    def holding(self) -> bool:
        """As `Stage.holding`; also where events are counted anew, which concerns all of them."""
        held = self._counting or self._held is not None or self._delta is not None or self._cut is not None
        return held or self.repeats.any_wait

    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        """As `Stage.take`; behind a cut frame nothing can go on but the body's end."""
        if tail_of(event.frame) is not Tail.NONE:
            self._cut = event.frame
            return []
        waits = self.repeats.waits(event, resolved)
        self._unsent = Held(self._held, self._delta, self.repeats.waiting)
        if waits:
            gone = [frame for waiting in self.repeats.ready() for frame in self._one(*waiting)]
        else:
            gone = self._one(event, resolved)
        self._sent()
        return gone

    def needs_every_event(self, call: OpenCall) -> bool:
        """As `Stage.needs_every_event`."""
        item = self._by_call.get(id(call))
        if self.as_it_comes:
            return False
        if item is None or self.holding or self.repeats.repeats(call):
            return True
        return not item.inside_value

    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        """As `Stage.on_skipped`."""
        item = self._by_call.get(id(call))
        for number, piece in enumerate(passed.pieces, passed.first):
            self.number = number
            if item is not None:
                item.said.went_by_itself(piece)
        self.number = passed.first + passed.events - 1
        self._gone += 1
        if passed.counter is not None:
            self._sequence = self._counter = passed.counter
        if passed.text and item is not None and not self.as_it_comes:
            item.said.on_skipped(passed.text, passed.last)

    def accepts_any(self, call: OpenCall) -> bool:
        """As `Stage.accepts_any`."""
        item = self._by_call.get(id(call))
        if item is None or self.holding or self._copies or self.repeats.repeats(call):
            return False
        return self.context.judging and not self.as_it_comes and item.accepts_any

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`."""
        self._unsent = Held(self._held, self._delta, self.repeats.waiting)
        gone = [frame for waiting in self.repeats.ready(ended=True) for frame in self._one(*waiting)]
        self._out = []
        self._settle(())
        cut, self._cut = self._cut, None
        tail = Tail.NONE if cut is None else tail_of(cut)
        made = self._ending.at_end(clean=clean and tail is not Tail.EVENT and not self.as_it_comes)
        dropped = cut if made and tail is Tail.TERMINAL else None
        self._account(dropped)
        self._sent()
        return [*gone, *self._out, *([] if cut is None or dropped else [cut])]

    def release(self) -> Iterable[Frame]:
        """As `Stage.release`: after a bug of ours, what was held when the event came at which it showed."""
        inside_value, held = (
            self._unsent is not None,
            self._unsent or Held(self._held, self._delta, self.repeats.waiting),
        )
        kept = [frame for item in self.items for frame in item.kept if not inside_value or frame.number < self.number]
        first = [] if held.closing is None else [held.closing.frame]
        delta = [] if held.delta is None else [held.delta.frame]
        last = [] if self._cut is None else [self._cut]
        return [*kept, *first, *delta, *(event.frame for event, _ in held.waiting), *last]

    def _sent(self) -> None:
        self._unsent = None
        for item in self._spoken:
            item.kept.clear()
        self._spoken = []
        self._accounted = 0

    def _one(self, event: Event, resolved: Sequence[ResolvedFragment]) -> list[Frame]:
        """What goes on for an event."""
        frame, payload = event.frame, event.frame.json
        if frame.data is None or self.as_it_comes:
            self._gone += 1
            return [frame]
        self._out, self.number = [], frame.number
        self._match += 1
        kind = self._kind(frame)
        if not self._begun and isinstance(payload, dict) and is_resumed(self.context.exchange.path, payload, kind):
            self._begun = self.as_it_comes = True
            return [frame]
        if isinstance(payload, dict):
            self._judge_number(payload, kind)
        self._settle(resolved, kind)
        if event.content.error:
            self._ending.failed = True
            self.report(IN_BAND_ERROR, self.number, f"the provider reports an error: {event.content.error}")
        if not isinstance(payload, dict):
            self._out.append(frame)
        else:
            self._begin(payload, kind)
            changed = self._judged(frame, payload, kind, resolved)
            if changed is not None:
                self._go(frame, changed)
        self._account(None if self._keeps is frame else frame)
        return self._out

    def _account(self, frame: Frame | None) -> None:
        """Audit what went on for an event, and for those that were kept until it; `None` for one that is kept."""
        if len(self._spoken) > self._accounted:
            self._account_kept([item for item in self._spoken[self._accounted :] if item.kept])
            self._accounted = len(self._spoken)
        self._gone += bool(self._out)
        self.went(frame, self._out, waits=self._delta is not None or self._held is not None)

    def _account_kept(self, items: list[Item]) -> None:
        """Take in what was kept of some items; where that goes on behind others, it is told why."""
        kept = [one for item in items for one in item.kept]
        in_order = sorted(kept, key=lambda one: one.number)
        moved = kept != in_order or any(item.kept.moved(self.number, self._gone, self._match) for item in items)
        for item in items if moved else ():
            nameless = item.kept.row is LATE_NAME and not item.call.name
            self.because(MISSING_NAME if nameless else item.kept.row)
        self._before += () if moved else kept

    def _settle(self, resolved: Sequence[ResolvedFragment], kind: str = "") -> None:
        """What waited goes on, unless the event has a say in it.

        The next delta decides on the one before it. An event that closes a call too early goes on, unless the call
        goes on in another item.
        """
        call = resolved[0].call if resolved else None
        if self._delta is not None and not (kind == DELTA and call is self._delta.item.call):
            self._delta.item.said.settle()
            self._let_delta_go()
        if self._held is None or (kind == CLOSED and call is self._held.item.call):
            return
        held, self._held = self._held, None
        if resolved and call is held.item.call and resolved[0].fragment.phase is Phase.OPEN:
            held.item.closed, held.item.in_pieces = False, True
            return
        same = held.payload is held.frame.json
        self._out.append(held.frame if same else self._rewritten(held.frame, held.payload))

    def _begin(self, payload: dict[str, Json], kind: str) -> None:
        """Put the event that opens the answer where another is the first."""
        begun, self._begun = self._begun, True
        response = None if begun or self._ending.failed else missing_head(payload, kind)
        message = f"the stream begins with {kind}, not with {CREATED}"
        if response is not None and self.report(MISSING_HEAD, self.number, message):
            number = payload.get("sequence_number")
            self._sequence = number - 1 if isinstance(number, int) else None
            self.created = response
            self.put({"type": CREATED, "response": self.created})

    def _judged(
        self, frame: Frame, payload: dict[str, Json], kind: str, resolved: Sequence[ResolvedFragment]
    ) -> dict[str, Json] | None:
        """The event as the client is to get it; `None` where it gets none, or has been put."""
        if kind == CREATED:
            return self._created(payload)
        if kind in TERMINAL or kind == REALTIME_DONE:
            return self._ended(payload, kind, resolved)
        if self._ending.over:
            return payload
        if not resolved or resolved[0].call.kind is not Kind.FUNCTION:
            if kind in {ADDED, CLOSED}:
                self.places.other(payload, closed=kind == CLOSED)
            return payload
        fragment, call = resolved[0]
        if self.repeats.drops(fragment, call):
            return None
        own = json_access.text(
            json_access.get(payload, "item", "id") if kind in {ADDED, CLOSED} else payload.get("item_id")
        )
        if fragment.phase is Phase.OPEN:
            return self._added(frame, payload, call, own)
        if isinstance(own, str) and own in self._copies and self.knows(call):
            return self._of_copy(payload, kind, call)
        return self._of_item(frame, payload, kind, self.item_of(call))

    def _created(self, payload: dict[str, Json]) -> dict[str, Json] | None:
        if self.created and payload.get("response") == self.created and not (self.items or self.places.taken):
            return None if self.report(REPEATED_START, self.number, "the response is created again") else payload
        if self.created:
            self.report(RESTARTED_STREAM, self.number, "a second response starts within the stream")
            self.as_it_comes = True
            return payload
        response = payload.get("response")
        self.created = response if isinstance(response, dict) else {}
        return payload

    def _ended(
        self, payload: dict[str, Json], kind: str, resolved: Sequence[ResolvedFragment]
    ) -> dict[str, Json] | None:
        """The terminal event as the client is to get it; `None` where it has one."""
        if self._ending.over:
            return None if self.report(REPEATED_STOP, self.number, "the response ends again") else payload
        if kind == REALTIME_DONE:
            kind = terminal_type(payload)
            if self.report(FOREIGN_FINISH, self.number, f"the response ends with {REALTIME_DONE}"):
                payload = {**payload, "type": kind}
        return self._ending.terminal(payload, kind, resolved)
