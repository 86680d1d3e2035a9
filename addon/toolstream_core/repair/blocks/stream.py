"""The frames to send for one stream of blocks."""

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
from toolstream_core.repair.fields import TOP, Payload
from toolstream_core.repair.shapes import Policy, is_complete, is_sendable
from toolstream_core.repair.shaping import Outgoing, ShapedCalls, Shaping
from toolstream_core.stages.context import Context
from toolstream_core.stages.inject.codec import What
from toolstream_core.stages.repair.repairer import Reporter
from toolstream_core.wire.frame import Frame

_PHASES: Final = {What.START: Phase.OPEN, What.DELTA: Phase.MORE, What.STOP: Phase.CLOSE}


class BlockStream:
    """State that the parts of the repair share."""

    def __init__(self, context: Context, protocol: BlockProtocol, reporter: Reporter, policy: Policy) -> None:
        """`protocol`: the table of events; `policy`: what the client needs."""
        self.context, self.protocol, self.policy = context, protocol, policy
        self.message = Message()
        self._reporter, self.on, self.because = reporter, reporter.on, reporter.because
        self.fixes_escapes = reporter.on(INVALID_ARGUMENTS)
        self.number = self.now = 0
        """The numbers of the event that is sent and of the last received event."""
        self.out: list[Frame] = []
        """The frames to send."""
        self.keyed: bool | None = None
        """Whether events have an event line, or a key with their type; decided by the stream's first event."""
        self._shapes = not policy.shapes_nothing
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

    def pass_on(
        self,
        frame: Frame,
        parsed: BlockEvent,
        wanted: dict[str, Json] | None = None,
        *,
        first: bool = True,
        call: OpenCall | None = None,
    ) -> None:
        """Send an event with these fields; the same frame if it has them. `call`: the call that it is of."""
        protocol, body = self.protocol, parsed.body
        if wanted:
            body = protocol.laid(parsed, wanted)
        if not first:
            self.make(parsed.what, {"type": parsed.kind, **body}, call)
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

    def make(self, what: What, body: Payload, call: OpenCall | None = None) -> None:
        """Send a new event; `call`: the call that it is of."""
        frame = self.protocol.make(self.context.writer, what, body, self.number, line=self.keyed is not False)
        self._shape(None, frame, call)

    def put(self, frame: Frame, call: OpenCall | None = None) -> None:
        """Send an event, which is of `call`, unchanged, or as the policy needs it."""
        self._shape(frame, frame, call)

    def _shape(self, received: Frame | None, frame: Frame, call: OpenCall | None) -> None:
        """Send a frame as the policy needs it; `received`: the event that it is sent for."""
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

    def end_turn(self, *, over: bool) -> None:
        """Send the events that wait for complete calls; `over`: the message ended by itself."""
        if self._shapes:
            self._write(self.shaping.at_end(over=over))

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

    def _is_sendable(self, call: OpenCall, over: bool) -> bool:  # noqa: FBT001
        if has_none(call):
            return over and self.proves_empty(call) and is_complete(call, self.context, over=True)
        block = self.message.by_call.get(id(call))
        if block is None:
            return is_complete(call, self.context, over=over)
        reading = block.intended(call, over=True, fix_escapes=self.fixes_escapes)
        return is_sendable(reading, call, self.context, self.on, over=over)
