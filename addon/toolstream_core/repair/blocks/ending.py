"""Ends messages: sends finish reasons and missing events."""

from __future__ import annotations

from toolstream_core.calls.finish_reasons import is_cut
from toolstream_core.calls.json_text import is_object
from toolstream_core.defects.arguments import LOST_ARGUMENTS
from toolstream_core.defects.finish import (
    CUT_OFF_CALL,
    FOREIGN_FINISH,
    MISSING_CALLS,
    MISSING_DONE,
    MISSING_FINISH,
    REPEATED_STOP,
    UNCLOSED_CALL,
    WRONG_FINISH,
)
from toolstream_core.defects.framing import NULL_USAGE
from toolstream_core.model import Event, Json
from toolstream_core.repair.blocks.events import BlockEvents
from toolstream_core.repair.blocks.message import Block, BlockState
from toolstream_core.repair.blocks.order import BlockOrder
from toolstream_core.repair.blocks.protocol import ID, REASON, USAGE, BlockEvent
from toolstream_core.repair.blocks.stream import BlockStream
from toolstream_core.repair.fields import TOP
from toolstream_core.stages.inject.codec import What
from toolstream_core.wire import json_access


class MessageEnd:
    """Ends the messages of one stream."""

    def __init__(self, stream: BlockStream, client: BlockEvents, order: BlockOrder) -> None:
        self._stream, self._client, self._order = stream, client, order
        self.context, self.protocol, self.message = stream.context, stream.protocol, stream.message

    def finish(self, event: Event, parsed: BlockEvent) -> None:
        message, protocol = self.message, self.protocol
        reason = protocol.get(parsed, REASON)
        reason = reason if isinstance(reason, str) else ""
        if message.finish is not None and protocol.repeated_finish is not None:
            repair = self._stream.report(protocol.repeated_finish, "the message ends twice")
            if not (repair and message.finished_with == len(message.calls)):
                self._stream.send(event.frame, parsed)
            return
        message.cut = message.cut or is_cut(reason)
        if reason or protocol.repeated_finish is not None:
            self.message.sends_stops = True
            message.finish = message.finish or reason
            self._order.send_all()
            self._close_all(ended=bool(reason) or protocol.repeated_finish is not None)
            self._end_calls(normally=bool(reason) and not message.cut)
            message.finished_with = len(message.calls)
            self._report_lost()
        self._stream.send(event.frame, parsed, self._reason(reason) | self.usage(parsed))

    def _report_lost(self) -> None:
        """Report calls whose arguments are missing, unless the response is truncated: then they were not made."""
        calls, self.message.without_arguments = self.message.without_arguments, []
        for call, number in calls if not self.message.cut else ():
            why = f"{call.name} has required parameters and got no arguments"
            self._stream.report(LOST_ARGUMENTS, why, call, at=number)

    def _reason(self, reason: str) -> dict[str, Json]:
        """The finish reason to send, if it differs."""
        protocol, runs = self.protocol, self._runnable
        words = protocol.words
        intended = words.translated(reason)
        if intended == words.called and not self.message.calls:
            self._stream.report(MISSING_CALLS, f"the finish reason is {words.called} and no call could be read")
        wanted = words.wanted(reason, runs=runs)
        if intended != reason:
            foreign = self._stream.report(FOREIGN_FINISH, f"the finish reason is {reason}")
            return {REASON: wanted} if foreign else {}
        why = f"finish reason {reason} although calls were made"
        if wanted != reason and self._stream.report(WRONG_FINISH, why, severity=protocol.wrong_finish_severity):
            return {REASON: wanted}
        lacks = not reason and protocol.repeated_finish is not None and runs and not self.message.failed
        if lacks and self._stream.report(MISSING_FINISH, "the message ends without a finish reason"):
            return {REASON: words.called}
        return {}

    def usage(self, parsed: BlockEvent) -> dict[str, Json]:
        """The usage to send, if it is missing and clients read it."""
        if (
            not self.protocol.has(parsed, USAGE)
            or isinstance(self.protocol.get(parsed, USAGE), dict)
            or self.message.failed
        ):
            return {}
        if parsed.what is What.HEAD and not isinstance(parsed.body.get("message"), dict):
            return {}
        bare = self._stream.report(NULL_USAGE, f"{parsed.kind} has no usage")
        return {USAGE: self.protocol.usage[parsed.what]} if bare else {}

    def end(self, event: Event, parsed: BlockEvent) -> None:
        message = self.message
        if message.done and parsed.what is What.END:
            repair = self._stream.report(REPEATED_STOP, "the message stops twice")
            if not (
                repair and message.finished_with == len(message.calls) and parsed.body.keys() <= self.protocol.bare
            ):
                self._stream.send(event.frame, parsed)
            return
        self.message.sends_stops = True
        self._order.send_all()
        self._close_all(ended=True)
        self._end_calls(normally=not message.cut)
        self._report_lost()
        if message.finish is None:
            self._put_finish(f"{parsed.kind} comes without a finish reason")
        message.done = message.done or parsed.what is What.END
        message.finished_with = len(message.calls)
        self._stream.send(event.frame, parsed, self.usage(parsed))

    def _put_finish(self, why: str) -> bool:
        """Send a missing finish if all calls are complete. Returns whether it was sent."""
        message, protocol = self.message, self.protocol
        if message.failed or message.truncated or not self._runnable:
            return False
        self._close_all(ended=True)
        if not self._stream.report(MISSING_FINISH, why):
            return False
        self._end_calls(normally=True)
        message.finish = protocol.words.called
        fields: dict[str, Json] = {REASON: protocol.words.called}
        if isinstance(message.head, dict) and (path := protocol.paths.get(What.HEAD, TOP).get(ID)):
            fields[ID] = json_access.get(message.head, *path)
        self._stream.send_new(What.FINISH, protocol.filled(What.FINISH, **fields))
        return True

    def put_end(self) -> None:
        """Send a missing end if all calls are complete."""
        message, protocol = self.message, self.protocol
        if not self._runnable:
            return
        if message.finish is None:
            if not self._put_finish("the stream ended without a finish reason"):
                return
        elif (
            What.END not in protocol.new
            or (protocol.lines_by_first and not self._stream.keyed)
            or not self._stream.report(
                MISSING_DONE,
                "the stream ended without its last event",
                severity=protocol.end_severity,
            )
        ):
            return
        else:
            self._close_all(ended=True)
            self._end_calls(normally=True)
        if What.END in protocol.new:
            self._stream.send_new(What.END, protocol.new[What.END])

    def _close_all(self, *, ended: bool) -> None:
        """Stop the complete calls at the end of the message. `ended`: an event ended it, even without a reason."""
        for block in self.message.blocks:
            if block.state is not BlockState.OPEN or block.call is None or block.waiting:
                continue
            if self._client.is_complete(block, block.call, ended=ended) and not self.message.failed:
                if self._stream.report(UNCLOSED_CALL, "no event stopped the call", block.call):
                    self._client.close(block)
            else:
                self._client.put_delta(block, block.call, final=True)

    def _end_calls(self, *, normally: bool) -> None:
        """Send the events that wait for the end of a call; `normally`: the message was not truncated."""
        self._stream.end_turn(normally=normally)
        self._client.send_foreign(None)

    @property
    def _runnable(self) -> bool:
        """Whether there are calls, and the client has all of each."""
        message = self.message
        calls = message.calls
        open_blocks = [block for block in message.blocks if block.state is BlockState.OPEN]
        server_calls = [(block, block.server_call) for block in open_blocks if block.server_call is not None]
        complete = all(self._client.has_all_arguments(block, call) for block, call in server_calls)
        return bool(calls) and complete and not message.has_unassigned and all(self._can_run(block) for block in calls)

    def _can_run(self, block: Block) -> bool:
        call = block.call
        if call is None or not call.name or block.text.diverged or self._stream.shaping.is_left_out(call):
            return False
        if not self._client.is_complete(block, call, ended=True):
            return False
        return call.arguments.empty or is_object(block.intended(call, final=True).text)

    def withhold_stops(self) -> None:
        """Withhold the stop of an incomplete call: the body ended before the message."""
        incomplete = {id(call) for call in self.context.incomplete_calls()} if self._stream.on(CUT_OFF_CALL) else set()
        for block in self.message.blocks:
            if id(block.call) in incomplete and block.waiting and block.waiting[-1].parsed.what is What.STOP:
                self._stream.attribute_to(CUT_OFF_CALL)
                block.waiting.pop()
                self.message.waiting -= 1

    def flush(self, *, normally: bool = False) -> None:
        """Send all waiting events at the end of the body; `normally`: the message was not truncated."""
        for block in self.message.blocks:
            if block.call is not None and block.state is BlockState.OPEN and not self.message.done:
                self._client.put_delta(block, block.call, final=True)
            for one in block.waiting:
                if one.parsed.what is What.OTHER:
                    self._order.send_other(one.event, one.parsed)
                else:
                    self._stream.send(one.event.frame, one.parsed, self._client.continued(block, one), first=one.first)
            self.message.waiting -= len(block.waiting)
            block.waiting.clear()
        self._report_lost()
        self._end_calls(normally=normally)
