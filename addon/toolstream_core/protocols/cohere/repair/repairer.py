"""Cohere v2 streams, judged and repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.defects.finish import IN_BAND_ERROR, REPEATED_START
from toolstream_core.defects.framing import DATA_AFTER_END, RESTARTED_STREAM
from toolstream_core.defects.identity import DOUBLED_CALL
from toolstream_core.model import ABSENT
from toolstream_core.protocols.cohere.repair.calls import Unsure
from toolstream_core.protocols.cohere.repair.client_call import ClientCall
from toolstream_core.protocols.cohere.repair.finish import FinishRepair
from toolstream_core.protocols.cohere.repair.held import Held, HeldRepairer
from toolstream_core.protocols.cohere.repair.output import NAMED
from toolstream_core.protocols.cohere.repair.restart import SecondMessage
from toolstream_core.protocols.cohere.wire import (
    CALL_DELTA,
    CALL_END,
    CALL_START,
    DONE,
    MESSAGE_END,
    MESSAGE_START,
    is_event,
    kind_of,
)
from toolstream_core.stages.repair.unread import hides_arguments, is_unread
from toolstream_core.stages.stage import Holds, HoldsBesideText, SkippableWhole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, SkippedRun
    from toolstream_core.protocols.cohere.wire import Payload
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

PATIENCE: Final = 8
"""Comments that wait behind a delta: where more come the stream is slow."""
MAX_HELD: Final = 4096
"""Events of a call that wait before all are let go."""


class CohereRepairer(HeldRepairer, Holds, HoldsBesideText, SkippableWhole):
    """Judges and repairs one stream."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._finish = FinishRepair(self)
        self._head: Payload | None = None
        """The event that started the message."""
        self._second: SecondMessage | None = None
        self._tail: Held | None = None
        """The last event, which lacks its end: what goes on for it is known when the body ends."""
        self._unsent: list[Frame] = []

    @property
    @override
    def holding(self) -> bool:
        return bool(self._unsure or self._strays or self._queue) or self._tail is not None

    @property
    @override
    def needs_text(self) -> bool:
        return True

    @override
    def needs_every_event(self, call: OpenCall) -> bool:
        one = self.last
        if one is None or one.call is not call or self.holding:
            return True
        return self._second is not None or not one.inside_value

    @override
    def accepts_any(self, call: OpenCall) -> bool:
        one = self.last
        if one is None or one.call is not call or self.holding or self._second is not None:
            return False
        return self.context.judging and one.accepts_any

    @override
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        del call
        for number, piece in enumerate(passed.pieces, passed.first):
            self.number = number
            if self.last is not None:
                self.last.take(piece)
        self.number = passed.first + passed.events - 1
        if self.last is not None and passed.text:
            self.last.on_skipped(passed.text, passed.last)

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame = event.frame
        if self._second is not None:
            self.went(frame, out := [self._second.passed(frame)])
            return out
        if frame.data is None and not self.holding:
            return (frame,)
        if frame.trailing and frame.raw.strip():
            self._tail = (event, resolved)
            return ()
        self._out, self._unsent = [], self._waiting_frames() if self._unsure or self._strays or self._queue else []
        if frame.data is None:
            self._behind(event)
        else:
            self._one(event, resolved)
        self.went(frame, self._out, waits=bool(self._unsure or self._strays or self._queue) or self.keeps_start)
        self._unsent = []
        return self._out

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        self._out, self._unsent = [], list(self.release())
        tail, self._tail = self._tail, None
        cut = tail[0].frame if tail is not None and not is_event(tail[0].frame) else None
        if tail is not None and cut is None:
            self._one(*tail)
        self._let_go()
        self._settled()
        if self._second is None:
            self._finish.at_end(clean=clean and cut is None)
        if cut is not None:
            self._send(cut)
        self.went(tail[0].frame if tail is not None else None, self._out)
        self._unsent = []
        return self._out

    @override
    def release(self) -> Iterable[Frame]:
        held = self._unsent or self._waiting_frames()
        return [*held, *([self._tail[0].frame] if self._tail else [])]

    def _behind(self, event: Event) -> None:
        """A comment goes on: behind what waits, unless that takes long."""
        frame = event.frame
        if self._held is not None and sum(one.frame.data is None for one, _ in self._queue) < PATIENCE:
            self._queue.append((event, ()))
            return
        if self._unsure and len(self._unsure) < PATIENCE:
            self._unsure.append(Unsure(frame, {}, {}, None))
            return
        self._let_go()
        self._settle_first()
        self._send(frame)

    @override
    def _one(self, event: Event, resolved: Sequence[ResolvedFragment]) -> None:
        payload, self.number = event.frame.json, event.frame.number
        kind = kind_of(payload, event.frame.name)
        call = resolved[0].call if resolved else None
        if self._held is not None:
            if call is self._held.call and kind in {CALL_START, CALL_DELTA, CALL_END} and len(self._queue) < MAX_HELD:
                self._hold(event, resolved, kind)
                return
            self._let_go()
            self.number = event.frame.number
        if resolved:
            unread = resolved[0].fragment.arguments is ABSENT and hides_arguments(event)
        else:
            unread = (payload is ABSENT or kind not in NAMED) and is_unread(event)
        if kind != CALL_DELTA:
            self._decide_by(payload, kind, unread=unread)
        if unread:
            self.torn = True
            if self.last is not None:
                self.last.torn = True
                self._bring_start(self.last, anew=self.last.half)
        if event.content.error:
            self._failed(event)
        if not isinstance(payload, dict):
            self._bare(event.frame)
        else:
            self._of_kind(event, payload, kind, resolved)

    def _failed(self, event: Event) -> None:
        self._finish.failed = True
        self.close_whole(failed=True)
        self.report(IN_BAND_ERROR, self.number, f"the provider reports an error: {event.content.error}")

    def _bare(self, frame: Frame) -> None:
        """What is not an object: `[DONE]`, or nothing that is known here."""
        if (frame.data or b"").strip() != DONE:
            self._send(frame)
            return
        self._finish.put("[DONE] comes without message-end")
        self._finish.done = True
        self._send(frame)

    def _of_kind(self, event: Event, payload: Payload, kind: str, resolved: Sequence[ResolvedFragment]) -> None:
        frame, call = event.frame, resolved[0].call if resolved else None
        if self._finish.done and self.report(DATA_AFTER_END, self.number, "an event follows [DONE]"):
            return
        if self._doubles and call is not None and self._stays_dropped(call, payload):
            self.because(DOUBLED_CALL)
        elif kind == CALL_START and resolved:
            self._start(event, payload, resolved)
        elif kind == CALL_START:
            self.overflowed = True
            self._pass(frame, payload, payload)
        elif kind == CALL_DELTA and call is not None:
            self._delta(frame, payload, call)
        elif kind == CALL_END:
            self._end(frame, payload, call)
        elif kind == MESSAGE_START:
            self._message_start(frame, payload)
        elif kind == MESSAGE_END:
            changed = self._finish.ending(payload)
            if changed is not None:
                self._pass(frame, payload, changed)
        else:
            self._pass(frame, payload, payload)

    def _message_start(self, frame: Frame, payload: Payload) -> None:
        if self._head == payload and not self.calls:
            if self.report(REPEATED_START, self.number, "the message starts again"):
                return
        elif self._head is not None:
            self.report(RESTARTED_STREAM, self.number, "a second message starts within the stream")
            for one in self.calls:
                if one.open:
                    self.flush(one)
            self._second = SecondMessage(self)
        self._head = payload
        self._pass(frame, payload, payload)

    def _start(self, event: Event, payload: Payload, resolved: Sequence[ResolvedFragment]) -> None:
        """The event starts a call, or several where it has a list."""
        found = self._starts(payload, resolved)
        if not found:
            self._pass(event.frame, payload, payload)
            return
        for at, (start, call) in enumerate(found):
            frame = event.frame if not at else None
            started = self._by_call.get(id(call))
            if started is not None:
                self._start_again(event.frame, start, started)
                continue
            one = ClientCall(self, call, start, len(self.calls))
            self._overlaps(one)
            if frame is not None and len(found) == 1 and self._may_wait(one):
                self._held = one
                self._queue.append((event, resolved))
                continue
            self._begin(one, frame)
