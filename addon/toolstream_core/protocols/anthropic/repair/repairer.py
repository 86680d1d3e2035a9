"""Anthropic Messages streams, judged and repaired: each event goes to its block, to the queue or to the message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.defects.finish import IN_BAND_ERROR, OVERLAPPING_BLOCKS, REPEATED_START, UNCLOSED_CALL
from toolstream_core.defects.framing import NULL_USAGE, RESTARTED_STREAM
from toolstream_core.model import ABSENT
from toolstream_core.protocols.anthropic.repair.block_sequence import MAX_UNDECIDED
from toolstream_core.protocols.anthropic.repair.events import NAMED, Payload, adds, index_of, type_of
from toolstream_core.protocols.anthropic.repair.finish import FinishRepair
from toolstream_core.protocols.anthropic.repair.held import Waited
from toolstream_core.protocols.anthropic.repair.last_frame import is_cut
from toolstream_core.protocols.anthropic.repair.restart import SecondMessage
from toolstream_core.protocols.anthropic.repair.skippable import SkippableRepairer
from toolstream_core.stages.repair.unread import is_unread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

_ENDS_DELTA: Final = frozenset({"content_block_start", "content_block_stop", "message_delta", "message_stop", "error"})
"""Events behind which no delta of the block is expected."""
MAX_WAITING = 4096
"""Events of waiting blocks, above which all are sent."""


class AnthropicRepairer(SkippableRepairer):
    """Judges and repairs one Messages stream."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._finish = FinishRepair(self)
        self._head: Payload | None = None
        """The event that started the message."""
        self._taken: Json = None
        """The payload of the event that is still being repaired."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, call = event.frame, resolved[0].call if resolved else None
        if frame.trailing and frame.raw.strip() and self._second is None:
            self._tail = (event, call)
            return ()
        if self._second is not None:
            self.went(frame, out := [self._second.passed(event)])
            return out
        if frame.data is None and self._placeholder is None:
            return (frame,)
        self._out = []
        self._unsent = self._held_frames if self._placeholder is not None or self._strays else []
        self._taken = frame.json
        if frame.data is None:
            self._behind(frame)
        else:
            self._one(event, call)
        if self._waiting.events > MAX_WAITING:
            self.let_go()
        last = self.message.last
        keeps = last is not None and last.keeps and len(self._before) < MAX_UNDECIDED
        held = self._placeholder is not None or bool(self._strays) or keeps
        self.went(frame, self._out, waits=held or (self._waiting.events > 0 and self._undecided))
        self._unsent, self._taken = [], None
        return self._out

    @property
    def _held_frames(self) -> list[Frame]:
        """The deltas for which the next event decides what they become."""
        return [*(self._placeholder.frames if self._placeholder else ()), *self._stray_frames]

    @property
    def _undecided(self) -> bool:
        """Whether it is still open if the blocks that wait change anything of the stream."""
        if len(self._before) > MAX_WAITING:
            return False
        return not (self._after or self._out) or not self.reporter.has_reason

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        self._out, self._unsent = [], self._held_frames
        tail = self._tail
        last = tail[0].frame if tail else None
        cut = last if last is not None and is_cut(last) else None
        if tail is not None and cut is None:
            self._one(*tail)
        self._settled()
        self.let_go()
        if self._second is None:
            cut = self._finish.at_end(cut, clean=clean)
            self._out += [] if cut is None else [cut]
        self._tail = None
        self.went(last, self._out)
        self._unsent = []
        return self._out

    @override
    def release(self) -> Iterable[Frame]:
        """What was held when the event came at which the bug showed."""
        held = self._unsent or self._held_frames
        owed = [one for block in self.message.open.values() for one in block.owed(self._taken)]
        made = [self.context.writer.make(one, self.number, str(one["type"])) for one in owed]
        return [*made, *held, *self._waiting.frames(), *([self._tail[0].frame] if self._tail else [])]

    def _one(self, event: Event, call: OpenCall | None) -> None:
        payload, self.number = event.frame.json, event.frame.number
        kind = type_of(event)
        unread = (kind not in NAMED or payload is ABSENT) and is_unread(event)
        if self._strays and (unread or (kind == "content_block_start" and self._decides_nothing(call))):
            self._refuse_strays()
        undecided = self._placeholder is not None or bool(self._strays)
        if undecided and (kind in _ENDS_DELTA or event.content.error) and not self._ends_strays(kind, payload):
            self._settled()
        if unread:
            self._tear()
        if kind == "message_stop" and not isinstance(payload, dict):  # clients that go by its name read no further
            self.let_go()
            self.flush_open()
        if event.content.error:
            self._finish.failed = True
            self.close_whole(failed=True, stopped=True)
            self.report(IN_BAND_ERROR, self.number, f"the provider reports an error: {event.content.error}")
        if not isinstance(payload, dict) or (self._placeholder is not None and kind not in NAMED - {"ping"}):
            self._behind(event.frame)
        elif kind == "content_block_start":
            self._start(event, payload, call)
        elif kind in {"content_block_delta", "content_block_stop"}:
            self._of_block(event, payload, call, stops=kind == "content_block_stop")
        else:
            self._other(event, payload, kind)

    def _of_block(self, event: Event, payload: Payload, call: OpenCall | None, *, stops: bool) -> None:
        """A delta or stop of a block that waits, or of one that the client has."""
        queue = self._queue_of(payload, None if stops else call) if self._waiting.events else None
        if queue is None and call is not None and self._doubled is not None and self._doubled.start.call is call:
            self._bring_back(self._doubled)
        if queue is None and stops:
            self._stop(event, payload)
        elif queue is None:
            self._delta(event, payload, call)
        else:
            self._waiting.add(queue, Waited(event, payload, call, stops))
            if stops:
                self._go_on()

    def _other(self, event: Event, payload: Payload, kind: str) -> None:
        """An event that concerns no block: the message's start and end, and keep-alives."""
        changed = payload
        if kind == "message_start":
            if self._head == payload and not self.message.count:
                if self.report(REPEATED_START, self.number, "the message starts again"):
                    return
            elif self._head is not None:
                self._restart()
            self._head = payload
            changed = self._with_usage(payload)
        elif kind in {"message_delta", "message_stop"}:
            repaired = self._finish.repaired(payload, kind)
            if repaired is None:
                return
            changed = repaired
        self._pass(event.frame, payload, changed)

    def _restart(self) -> None:
        """From here on nothing is repaired: the events of the two messages cannot be told apart."""
        self.report(RESTARTED_STREAM, self.number, "a second message starts within the stream")
        self._settled()
        self.let_go()
        self.flush_open()
        self._second = SecondMessage(self.message, self.context.writer)

    def _with_usage(self, payload: Payload) -> Payload:
        message = payload.get("message")
        bare = isinstance(message, dict) and not isinstance(message.get("usage"), dict)
        if not bare or not self.report(NULL_USAGE, self.number, "message_start has no usage"):
            return payload
        return {**payload, "message": {**payload["message"], "usage": {"input_tokens": 0, "output_tokens": 0}}}

    def _start(self, event: Event, payload: Payload, call: OpenCall | None) -> None:
        index = index_of(payload)
        if self._claims:
            self._starts_at(index)
        if self._waiting.events:
            self._before_start_again(index, call)
        before, same = self.message.last, self.message.by_index.get(index)
        if call is not None and same is not None and same.call is call and same.begun:
            self._start_again(event, payload, same)
            return
        queue = self._waiting.of(index) if self._waiting.events else None
        if call is not None and queue is not None and queue.start.call is call and not queue.stopped:
            gone = self.report(REPEATED_START, self.number, "the block starts again", call)
            if gone and call.at_most_begun and not adds(queue.start.content, payload):
                return
            self._waiting.add(queue, Waited(event, payload, call, stops=False))
            return
        block = self._block(payload, call)
        if before is not None and before.open:
            self.report(OVERLAPPING_BLOCKS, self.number, "a block starts before the one before it has stopped", call)
            closes = self.on(OVERLAPPING_BLOCKS) or self.on(UNCLOSED_CALL)
            if closes and before.arguments.come and not self._waiting.events:
                self.close(before)
            elif self.on(OVERLAPPING_BLOCKS):
                self._wait(event, payload, block)
                return
        if self._waiting.events or self._may_repeat(block):
            self._wait(event, payload, block)
        else:
            self._begin(block, event, payload)
