"""Writes the frames of one stream of blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolstream_core.calls import OpenCall
from toolstream_core.defects.arguments import INVALID_ARGUMENTS
from toolstream_core.defects.defect import Defect
from toolstream_core.defects.framing import MISSING_EVENT_NAME
from toolstream_core.model import Json, Phase, Severity
from toolstream_core.repair.blocks.message import Message, has_none
from toolstream_core.repair.blocks.protocol import ARGUMENTS, BlockEvent, BlockProtocol
from toolstream_core.repair.fields import TOP
from toolstream_core.repair.shapes import Policy, is_complete, is_sendable
from toolstream_core.repair.shaping import Outgoing, ShapedCalls, Shaping
from toolstream_core.stages.context import Context
from toolstream_core.stages.inject.codec import What
from toolstream_core.stages.repair.repairer import Reporter
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import Payload

_PHASES: Final = {What.START: Phase.OPEN, What.DELTA: Phase.MORE, What.STOP: Phase.CLOSE}


class BlockStream:
    """The state that all parts of the repair share, and the frames to send."""

    def __init__(self, context: Context, protocol: BlockProtocol, reporter: Reporter, policy: Policy) -> None:
        """`protocol`: the table of events; `policy`: the encoding that the client supports."""
        self.context, self.protocol, self.policy = context, protocol, policy
        self.message = Message()
        self._reporter, self.on, self.attribute_to = reporter, reporter.on, reporter.attribute_to
        self.fixes_escapes = reporter.on(INVALID_ARGUMENTS)
        self.number = self.now = 0
        """The numbers of the event that is sent, and of the last received event."""
        self.out: list[Frame] = []
        """The frames to send."""
        self.keyed: bool | None = None
        """Whether events have an event line, or a key with their type; decided by the stream's first event."""
        self._shapes = not policy.is_empty
        self.shaping = Shaping(policy, ShapedCalls(protocol.delta_keys, self._is_sendable), reporter)

    def report(
        self,
        defect: Defect,
        message: str,
        call: OpenCall | None = None,
        *,
        at: int | None = None,
        severity: Severity | None = None,
    ) -> bool:
        """Report a defect of the event that is sent, or of event `at`. Returns whether to repair it here."""
        return self._reporter.report(defect, self.number if at is None else at, message, call, severity=severity)

    def send(
        self,
        frame: Frame,
        parsed: BlockEvent,
        wanted: dict[str, Json] | None = None,
        *,
        first: bool = True,
        call: OpenCall | None = None,
    ) -> None:
        """Send a received event with these fields, unchanged if it has them; `call`: the call that it belongs to."""
        protocol, body = self.protocol, parsed.body
        if wanted:
            body = protocol.laid(parsed, wanted)
        if not first:
            self.send_new(parsed.what, {"type": parsed.kind, **body}, call)
            return
        named = parsed.kind in protocol.event_lines and (self.keyed or not protocol.lines_by_first)
        nameless = named and not frame.name and b"data:" in frame.raw
        line = nameless and self.report(MISSING_EVENT_NAME, "the event has no event line", at=frame.number)
        written = frame
        if body is not parsed.body or line or self._was_split(frame, parsed):
            written = protocol.rewrite(self.context.writer, frame, parsed, body, line=line)
        self._shape(frame, written, call)

    def _was_split(self, frame: Frame, parsed: BlockEvent) -> bool:
        """Whether the event arrived in another container."""
        again = self.protocol.read(frame) if self.protocol.split is not None else parsed
        return again is None or (again.body is not parsed.body and again.body != parsed.body)

    def send_new(self, what: What, body: Payload, call: OpenCall | None = None) -> None:
        """Send a new event; `call`: the call that it belongs to."""
        frame = self.protocol.make(self.context.writer, what, body, self.number, line=self.keyed is not False)
        self._shape(None, frame, call)

    def put(self, frame: Frame, call: OpenCall | None = None) -> None:
        """Send a received event of `call`, unchanged or in the shape of the policy."""
        self._shape(frame, frame, call)

    def _shape(self, received: Frame | None, frame: Frame, call: OpenCall | None) -> None:
        """Send a frame in the shape of the policy; `received`: the event that it is sent for."""
        if not self._shapes:
            self._put(frame)
            return
        event, payload = self.protocol.read(frame), frame.json
        if event is None or not isinstance(payload, dict):
            one = Outgoing(received, frame, None, frame.number)
        else:
            within = () if event.body is payload else (event.kind,)
            paths = {name: (*within, *path) for name, path in self.protocol.paths.get(event.what, TOP).items()}
            phase = _PHASES.get(event.what, Phase.WHOLE)
            if phase is Phase.MORE and not isinstance(self.protocol.get(event, ARGUMENTS), str):
                phase = Phase.WHOLE
            one = Outgoing(received, frame, payload, frame.number, call, "", phase, paths)
        self._write(self.shaping.sent(one))

    def end_turn(self, *, normally: bool) -> None:
        """Send the events that wait for complete calls; `normally`: the message was not truncated."""
        if self._shapes:
            self._write(self.shaping.at_end(normally=normally))

    def _write(self, events: Iterable[Outgoing]) -> None:
        writer = self.context.writer
        for one in events:
            if one.frame is None:
                self._put(writer.make(one.payload, one.number, one.name))
            else:
                same = one.payload is None or one.payload is one.frame.json
                self._put(one.frame if same else writer.rewrite(one.frame, one.payload))

    def _put(self, frame: Frame) -> None:
        if self.out and self.out[-1].trailing:
            self.out[-1] = self.context.writer.ended(self.out[-1])
        self.out.append(frame)

    def proves_empty(self, call: OpenCall) -> bool:
        """Whether something shows that a call without arguments is complete."""
        return call.closed or self.context.has_no_parameters(call.name) or bool(self.message.finish)

    def _is_sendable(self, call: OpenCall, ended: bool) -> bool:  # noqa: FBT001
        if has_none(call):
            return ended and self.proves_empty(call) and is_complete(call, self.context, ended=True)
        block = self.message.by_call.get(id(call))
        if block is None:
            return is_complete(call, self.context, ended=ended)
        reading = block.intended(call, final=True, fix_escapes=self.fixes_escapes)
        return is_sendable(reading, call, self.context, self.on, ended=ended)
