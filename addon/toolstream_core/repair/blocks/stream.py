"""State of one stream: the message, and the frames to send for the current event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.framing import (
    MISSING_EVENT_NAME,
)
from toolstream_core.repair.blocks.message import Message

if TYPE_CHECKING:
    from toolstream_core.defects.causes.what import What
    from toolstream_core.model import Json
    from toolstream_core.repair.blocks.protocol import (
        BlockEvent,
        BlockProtocol,
    )
    from toolstream_core.repair.fields import Payload
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.reporter import Reporter
    from toolstream_core.wire.frame import Frame


class BlockStream:
    """State that the parts of the repair share."""

    def __init__(self, context: Context, protocol: BlockProtocol, reporter: Reporter) -> None:
        """`protocol`: the table of events."""
        self.context, self.protocol = context, protocol
        self.message = Message()
        self.report, self.on, self.because = reporter.report, reporter.on, reporter.because
        self.number = self.now = 0
        """The numbers of the event that is sent and of the event that came last."""
        self.out: list[Frame] = []
        """The frames to send."""
        self.keyed: bool | None = None
        """Whether events have an event line, or a key with their type; decided by the stream's first event."""

    def pass_on(
        self, frame: Frame, parsed: BlockEvent, wanted: dict[str, Json] | None = None, *, first: bool = True
    ) -> None:
        """Send an event with these fields; the same frame if it has them."""
        protocol, body = self.protocol, parsed.body
        if wanted:
            body = protocol.laid(parsed, wanted)
        if not first:
            self.make(parsed.what, {"type": parsed.kind, **body})
            return
        named = parsed.kind in protocol.event_lines and (self.keyed or not protocol.lines_by_first)
        nameless = named and not frame.name and b"data:" in frame.raw
        line = nameless and self.report(MISSING_EVENT_NAME, frame.number, "the event has no event line")
        self._send(
            frame
            if body is parsed.body and not (line or self._was_split(frame, parsed))
            else self.rewritten(frame, parsed, body, line=line)
        )

    def _was_split(self, frame: Frame, parsed: BlockEvent) -> bool:
        """Whether the event came in another container."""
        again = self.protocol.read(frame) if self.protocol.split is not None else parsed
        return again is None or (again.body is not parsed.body and again.body != parsed.body)

    def rewritten(self, frame: Frame, parsed: BlockEvent, body: Payload, *, line: bool = False) -> Frame:
        return self.protocol.rewrite(self.context.writer, frame, parsed, body, line=line)

    def make(self, what: What, body: Payload) -> None:
        """Send a new event."""
        self._send(self.protocol.make(self.context.writer, what, body, self.number, line=self.keyed is not False))

    def _send(self, frame: Frame) -> None:
        if self.out and self.out[-1].trailing:
            self.out[-1] = self.context.writer.ended(self.out[-1])
        self.out.append(frame)
