"""Judges and repairs one Converse stream: what each event is, and which of them wait for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.defects.finish import IN_BAND_ERROR, OVERLAPPING_BLOCKS, REPEATED_START, UNCLOSED_CALL
from toolstream_core.defects.framing import RESTARTED_STREAM
from toolstream_core.protocols.bedrock.converse_event import (
    BLOCK_DELTA,
    BLOCK_START,
    BLOCK_STOP,
    START,
    STOP,
    event_of,
    says_text,
)
from toolstream_core.protocols.bedrock.repair.block_sequence import MAX_WAITING
from toolstream_core.protocols.bedrock.repair.doubled_calls import DoubledCallRepairer
from toolstream_core.protocols.bedrock.repair.finish import FinishRepair
from toolstream_core.protocols.bedrock.repair.held import Waited
from toolstream_core.protocols.bedrock.repair.restart import SecondMessage
from toolstream_core.stages.repair.unread import is_unread
from toolstream_core.stages.stage import Holds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event
    from toolstream_core.protocols.bedrock.converse_event import ConverseEvent, Payload
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

# Two things make events wait. A block that starts before the one before it has stopped waits for that: callers of
# ConverseStream keep one open call. And a block that starts under the id of an earlier call waits for its own stop:
# only then does it show whether it is that call again.


class ConverseRepairer(DoubledCallRepairer, Holds):
    """Judges and repairs one stream."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._finish = FinishRepair(self)
        self._head: Payload | None = None
        """What the event said that started the message."""
        self._second: SecondMessage | None = None
        self._queue: list[Waited] = []
        """Events that wait for the open block."""
        self._unsent: list[Frame] = []
        """What was held behind the last event that was dealt with."""

    @property
    @override
    def holding(self) -> bool:
        block = self._current
        return bool(self._unsent) or (block is not None and block.open) or bool(self._indexes)

    def _held(self) -> list[Frame]:
        waited = [*self._strays, *self._again, *self._queue]
        frames = [*[one.event.frame for one in waited], *[one.frame for one in self._unsure]]
        return sorted(frames, key=lambda frame: frame.number)

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame = event.frame
        if self._second is not None:
            self.went(frame, out := [self._second.passed(frame)])
            return out
        self._out = []
        self.message.number = frame.number
        converse = event_of(frame)
        if frame.data is None or event.content.error or converse is None:
            self._foreign(event)
        else:
            if self._keyed is None:
                self._keyed = converse.keyed
            self._one(Waited(event, resolved[0].call if resolved else None), converse)
        if len(self._queue) + len(self._again) > MAX_WAITING:
            self._let_go()
        self._unsent = self._held() if self._strays or self._again or self._queue or self._unsure else []
        waits = bool(self._unsent) or bool(self._current and self._current.keeps)
        self.went(frame, self._out, waits=waits)
        return self._out

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        if self._second is not None:
            return ()
        self._out = []
        self._let_go()
        self._finish.at_end(clean=clean)
        self._unsent = self._held()
        self.went(None, self._out)
        return self._out

    @override
    def release(self) -> Iterable[Frame]:
        return self._unsent or self._held()

    def _foreign(self, event: Event) -> None:
        """An error, or what nobody could read: nothing waits any longer, and nothing is concluded from what came."""
        frame, error = event.frame, event.content.error if event.frame.data is not None else None
        self._refuse_strays()
        unread = is_unread(event)
        self._tear(unread=unread)
        self._let_go(more=True)
        self._tear(unread=unread)
        self.torn = self.torn or unread
        self._finish.failed |= bool(error) or frame.trailing or self.torn
        if error:
            self.close_whole(failed=True)
            self.report(IN_BAND_ERROR, self.message.number, f"the provider reports an error: {error}")
        self._flush_text()
        self._out.append(frame)

    def _tear(self, *, unread: bool) -> None:
        """What nobody could read may have been a part of the open call, or what begins it anew."""
        if unread and self._current is not None:
            self._current.torn = True
            self._bring_start(self._current, anew=self._current.half)

    @override
    def _one(self, one: Waited, event: ConverseEvent) -> None:
        if event.kind not in {BLOCK_START, BLOCK_DELTA, BLOCK_STOP}:
            if event.kind == START or (event.kind == STOP and self._may_be_anothers):
                self._refuse_strays()
            self._let_go(over=event.kind == STOP)
            self._around(one, event)
        elif self._again:
            self._of_candidate(one, event)
        elif self._queue and not self._is_current(one, event):
            self._queue.append(one)
        elif self._queue and says_text(event) and any(waited.says_text for waited in self._queue):
            self._let_go()
            self._delta(one, event)
        elif event.kind == BLOCK_DELTA:
            self._delta(one, event)
        elif event.kind == BLOCK_STOP:
            self._stop(one, event)
            self._next()
        elif event.tool is not None and one.call is not None:
            self._start(one, event, one.call)
        else:
            self._start_beside(one, event)

    def _is_current(self, one: Waited, event: ConverseEvent) -> bool:
        block = self._current
        if block is None or event.kind == BLOCK_START:
            return False
        return one.call is block.call or (one.call is None and event.index == block.index)

    def _around(self, one: Waited, event: ConverseEvent) -> None:
        """Whatever concerns no block: the message's start and end."""
        body: Payload | None = event.body
        if event.kind == "messageStart":
            body = self._started(event.body)
        elif event.kind == "messageStop":
            body = self._finish.stopped(event.body)
        elif event.kind == "metadata":
            body = self._finish.metadata(event.body)
        if body is not None:
            self.pass_on(one.event.frame, event, body)

    def _started(self, body: Payload) -> Payload | None:
        head = {key: value for key, value in body.items() if key != "p"}
        if self._head == head and self._current is None:
            return None if self.report(REPEATED_START, self.message.number, "the message starts again") else body
        if self._head is not None:
            self.report(RESTARTED_STREAM, self.message.number, "a second message starts within the stream")
            self.close_whole(failed=True)
            self._second = SecondMessage(self._by_index, self.context.writer)
        self._head = head
        return body

    def _start(self, one: Waited, event: ConverseEvent, call: OpenCall, *, decided: bool = False) -> None:
        block, current = self._by_call.get(id(call)), self._current
        if block is not None:
            self._start_again(one.event.frame, event, block)
            return
        self._before_start(event)
        if current is not None and current.open:
            self.report(
                OVERLAPPING_BLOCKS, self.message.number, "a block starts before the one before it has stopped", call
            )
            if current.finished and (self.on(OVERLAPPING_BLOCKS) or self.on(UNCLOSED_CALL)):
                self.close(current)
            elif self.on(OVERLAPPING_BLOCKS) and not decided:
                self._queue.append(one)
                return
        if self._may_be_again(event) and not decided:
            self._again.append(one)
        else:
            self._begin(one, event, again=False)

    def _next(self) -> None:
        """The open block was stopped: whose turn it is now."""
        queue, self._queue = self._queue, []
        number = self.message.number
        for one in queue:
            event = event_of(one.event.frame)
            if event is not None:
                self.message.number = one.event.frame.number
                self._one(one, event)
        self.message.number = number

    def _let_go(self, *, over: bool = False, more: bool = False) -> None:
        """Nothing waits any longer: the message is `over`, or an event is unread and `more` may follow."""
        if self._again:
            self._decide(more=more)
        self._settle()
        queue, self._queue = self._queue, []
        for one in queue:
            event = event_of(one.event.frame)
            if event is None or self._is_dropped(one, event):
                continue
            if event.kind == BLOCK_START and event.tool is not None and one.call is not None:
                if over:
                    self.close_before(one.call, failed=self._finish.failed)
                self._start(one, event, one.call, decided=True)
            elif event.kind == BLOCK_DELTA:
                self._delta(one, event)
            elif event.kind == BLOCK_STOP:
                self._stop(one, event)
            else:
                self._start_beside(one, event)
        self._settle()
