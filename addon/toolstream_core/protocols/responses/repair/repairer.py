"""Responses streams, judged and repaired: what waits, and what is sent for each event."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, override

from toolstream_core.defects.finish import IN_BAND_ERROR
from toolstream_core.model import Phase
from toolstream_core.protocols.responses.repair.client_items import ClientItems
from toolstream_core.protocols.responses.repair.custom_tools import CustomTools
from toolstream_core.protocols.responses.repair.event_types import (
    CREATED,
    REALTIME_DONE,
    RESPONSES_FORM,
    TERMINAL,
    EventForm,
    Tail,
    event_type,
    tail_of,
)
from toolstream_core.protocols.responses.repair.finish import FinishRepair
from toolstream_core.protocols.responses.repair.item_events import ItemEvents
from toolstream_core.protocols.responses.repair.kept_items import KeptItems
from toolstream_core.protocols.responses.repair.opening import OpeningRepair
from toolstream_core.protocols.responses.repair.repeats import Repeats
from toolstream_core.protocols.responses.repair.state import Mode, RepairState
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.stages.repair.unread import is_unread
from toolstream_core.stages.stage import Counts, Holds, SkippableWhole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, Json, SkippedRun
    from toolstream_core.protocols.responses.repair.kept_events import KeptEvents
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

# `resolver.py` decides which call an event belongs to. Here every call has a `ClientItem` with what the client has been
# told: whether it was added, the arguments it got in deltas, whether they were whole, whether it was closed. Events of
# an item that was never added are kept until one has its name; then the call is put from its start. Events that are put
# in take sequence numbers, so those behind them are renumbered.
#
# The parts know the state and the parts below them, never those above:
# state <- client_item <- client_items, kept_items <- custom_tools, repeats <- item_events, opening, finish <- repairer.


class ResponsesRepairer(Repairer, Counts, Holds, SkippableWhole):
    """Judges and repairs one Responses stream."""

    form: ClassVar[EventForm] = RESPONSES_FORM

    def __init__(self, context: Context) -> None:
        """One stream, from its start."""
        super().__init__(context)
        self._state = state = RepairState(self, context, self.form)
        self._output = state.output
        self._items = items = ClientItems(state)
        self._kept = kept = KeptItems(state)
        self._repeats = Repeats(state, items)
        custom = CustomTools(state, kept)
        self._events = ItemEvents(state, items, kept, custom, self._repeats)
        self._held_events = self._events.held
        self._opening = OpeningRepair(state, items, kept)
        self._finish = FinishRepair(state, items, kept, custom)
        self._cut: Frame | None = None
        """The last event, which the body's end cut off."""
        self._unsent: list[Frame] | None = None
        """What was held when the event at hand came; `None` between two events."""
        self._audited = 0
        """How many of `state.replaced` were audited."""

    @property
    @override
    def holding(self) -> bool:
        waits = self._held_events.any or bool(self._repeats.queue)
        return waits or self._output.renumbers or self._cut is not None

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        if event.frame.trailing and tail_of(event.frame) is not Tail.NONE:
            self._cut = event.frame
            return []
        opens = bool(resolved) and resolved[0].fragment.phase is Phase.OPEN
        queued = (opens or bool(self._repeats.queue)) and self._repeats.queues(event, resolved)
        self._unsent = self._held() if self._held_events.any or queued else []
        if queued:
            sent = [frame for waiting in self._repeats.ready() for frame in self._one(*waiting)]
        else:
            sent = self._one(event, resolved)
        self._unsent = None
        if self._state.replaced:
            self._finish_event()
        return sent

    @override
    def needs_every_event(self, call: OpenCall) -> bool:
        if self._state.mode is Mode.PASSED_ON:
            return False
        item = self._items.find(call)
        if item is None or self.holding or id(call) in self._state.repeated:
            return True
        return not item.inside_value

    @override
    def on_quiet(self, raw: bytes, end: int) -> None:
        self._output.on_quiet(raw, end)

    @override
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        item, output = self._items.find(call), self._output
        for number, piece in enumerate(passed.pieces, passed.first):
            output.number = number
            if item is not None:
                item.arguments.on_skipped_piece(piece)
        output.number = passed.first + passed.events - 1
        output.sends += 1
        if passed.counter is not None:
            output.skipped_to(passed.counter)
        if passed.text and item is not None and self._state.mode is not Mode.PASSED_ON:
            item.arguments.on_skipped(passed.text, passed.last)

    @override
    def accepts_any(self, call: OpenCall) -> bool:
        item = self._items.find(call)
        if item is None or self.holding or self._events.added.copies or id(call) in self._state.repeated:
            return False
        return self._state.context.judging and self._state.mode is not Mode.PASSED_ON and item.accepts_any

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        self._unsent = self._held()
        sent = [frame for waiting in self._repeats.ready(ended=True) for frame in self._one(*waiting)]
        self._output.begin(self._output.number)
        self._events.settle(())
        cut, self._cut = self._cut, None
        tail = Tail.NONE if cut is None else tail_of(cut)
        may_complete = clean and not self.torn and tail is not Tail.EVENT and self._state.mode is not Mode.PASSED_ON
        completed = self._finish.at_end(clean=may_complete)
        dropped = cut if completed and tail is Tail.TERMINAL else None
        self._audit_event(dropped)
        self._finish_event()
        return [*sent, *self._output.frames, *([] if cut is None or dropped else [cut])]

    @override
    def release(self) -> Iterable[Frame]:
        within_event = self._unsent is not None
        held = self._held() if self._unsent is None else self._unsent
        number = self._output.number
        kept = [frame for item in self._items for frame in item.kept if not within_event or frame.number < number]
        last = [] if self._cut is None else [self._cut]
        return [*kept, *held, *last]

    def _held(self) -> list[Frame]:
        held = self._held_events
        frames = [one.frame for one in (held.closing, held.delta) if one is not None]
        return [*frames, *held.comments, *(event.frame for event, _ in self._repeats.queue)]

    def _finish_event(self) -> None:
        self._unsent = None
        for kept in self._state.replaced:
            kept.clear()
        self._state.replaced = []
        self._audited = 0

    def _one(self, event: Event, resolved: Sequence[ResolvedFragment]) -> list[Frame]:
        """What is sent for an event."""
        frame, payload, output = event.frame, event.frame.json, self._output
        if frame.data is None and self._held_events.any:
            return self._behind_held(frame)
        if frame.data is None or self._state.mode is Mode.PASSED_ON:
            output.sends += 1
            return [frame]
        output.begin(frame.number)
        output.events += 1
        kind = event_type(frame)
        if isinstance(payload, dict):
            if self._state.mode is Mode.AWAITED and self._opening.resumes(payload, kind):
                return [frame]
            output.judge_number(payload, kind)
        if self._held_events.any:
            self._events.settle(resolved, kind)
        self.torn = self.torn or (not kind.startswith("response.") and is_unread(event))
        if event.content.error:
            self._state.failed = True
            self._state.report(IN_BAND_ERROR, f"the provider reports an error: {event.content.error}")
        if isinstance(payload, dict):
            if self._state.mode is Mode.AWAITED:
                self._opening.begin(payload, kind)
            changed = self._repaired(frame, payload, kind, resolved)
            if changed is not None:
                output.send(frame, changed)
        else:
            output.frames.append(frame)
        self._audit_event(None if self._kept.last is frame else frame)
        return output.frames

    def _behind_held(self, comment: Frame) -> list[Frame]:
        """What is sent for a comment behind events that are held."""
        if self._held_events.keeps(comment):
            self.went(comment, [], waits=True)
            return []
        self._output.begin(comment.number)
        self._events.settle(())
        self._output.frames.append(comment)
        self._audit_event(comment)
        return self._output.frames

    def _repaired(
        self, frame: Frame, payload: dict[str, Json], kind: str, resolved: Sequence[ResolvedFragment]
    ) -> dict[str, Json] | None:
        """The event as the client is to get it; `None` where it gets none, or has been sent something in its place."""
        if kind == CREATED:
            return self._opening.take(payload)
        if kind in TERMINAL or kind == REALTIME_DONE:
            return self._finish.take(payload, kind, resolved)
        if self._state.mode is Mode.ENDED:
            return payload
        return self._events.take(frame, payload, kind, resolved)

    def _audit_event(self, frame: Frame | None) -> None:
        """Audit what was sent for an event, and for the kept ones that it replaced; `None` for one that is kept."""
        replaced, output = self._state.replaced, self._output
        if len(replaced) > self._audited:
            self._audit_kept([kept for kept in replaced[self._audited :] if kept.frames])
            self._audited = len(replaced)
        output.sends += bool(output.frames)
        self.went(frame, output.frames, waits=self._held_events.any)

    def _audit_kept(self, replaced: list[KeptEvents]) -> None:
        """Audit kept events together with the event at hand; where later events were sent before them, say why."""
        frames = [frame for kept in replaced for frame in kept]
        in_order = sorted(frames, key=lambda frame: frame.number)
        progress = self._output.progress
        moved = frames != in_order or any(kept.overtaken(progress) for kept in replaced)
        for kept in replaced if moved else ():
            self.because(kept.told)
        self._before += () if moved else frames
