"""State of one stream: the message, and the frames to send for the current event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.framing import (
    MISSING_EVENT_NAME,
)
from toolstream_core.repair.blocks.message import Message
from toolstream_core.repair.blocks.protocol import ARGUMENTS
from toolstream_core.repair.fields import TOP, always, laid_over
from toolstream_core.repair.policy import WHOLE_CALLS
from toolstream_core.wire.other_keys import known_only, merged

if TYPE_CHECKING:
    from toolstream_core.defects.causes.what import What
    from toolstream_core.model import Json
    from toolstream_core.repair.blocks.protocol import (
        BlockEvent,
        BlockProtocol,
    )
    from toolstream_core.repair.fields import Payload
    from toolstream_core.repair.policy import Policy
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.reporter import Reporter
    from toolstream_core.wire.frame import Frame


class BlockStream:
    """State that the parts of the repair share."""

    def __init__(self, context: Context, protocol: BlockProtocol, reporter: Reporter, policy: Policy) -> None:
        """`protocol`: the table of events; `policy`: what the client needs."""
        self.context, self.protocol, self.policy = context, protocol, policy
        self.message = Message()
        self.report, self.on, self.because = reporter.report, reporter.on, reporter.because
        self._reporter = reporter
        self.number = self.now = 0
        """The numbers of the event that is sent and of the event that came last."""
        self.out: list[Frame] = []
        """The frames to send."""
        self.keyed: bool | None = None
        """Whether events have an event line, or a key with their type; decided by the stream's first event."""
        self._shapes = not policy.is_letter
        self.joins = False
        """Whether the deltas that are sent are of one call, and are to be sent as one."""
        self._joined: list[Frame] = []
        self._behind: list[Frame] = []
        """These deltas, and the other frames that are sent after them."""

    def pass_on(
        self,
        frame: Frame,
        parsed: BlockEvent,
        wanted: dict[str, Json] | None = None,
        *,
        first: bool = True,
        shaped: bool = False,
    ) -> None:
        """Send an event with these fields; the same frame if it has them. `shaped`: as the policy needs a delta."""
        protocol, body = self.protocol, parsed.body
        if wanted:
            body = laid_over(body, wanted, always, protocol.paths.get(parsed.what, TOP))
        if not first:
            self.make(parsed.what, {"type": parsed.kind, **body}, shaped=shaped)
            return
        named = parsed.kind in protocol.event_lines and (self.keyed or not protocol.lines_by_first)
        nameless = named and not frame.name and b"data:" in frame.raw
        line = nameless and self.report(MISSING_EVENT_NAME, frame.number, "the event has no event line")
        if body is not parsed.body or line or self._was_split(frame, parsed):
            frame = protocol.rewrite(self.context.writer, frame, parsed, body, line=line)
        (self._shape if shaped and self._shapes else self.put)(frame)

    def _was_split(self, frame: Frame, parsed: BlockEvent) -> bool:
        """Whether the event came in another container."""
        again = self.protocol.read(frame) if self.protocol.split is not None else parsed
        return again is None or (again.body is not parsed.body and again.body != parsed.body)

    def make(self, what: What, body: Payload, *, shaped: bool = False) -> None:
        """Send a new event; `shaped`: as the policy needs a delta."""
        frame = self.protocol.make(self.context.writer, what, body, self.number, line=self.keyed is not False)
        (self._shape if shaped and self._shapes else self.put)(frame)

    def send_joined(self) -> None:
        """Send the collected deltas as one, with the unknown keys of all; then what came with them.

        A delta whose unknown keys contradict those before it is sent after it, without arguments.
        """
        frames, behind = self._joined, self._behind
        self.joins, self._joined, self._behind = False, [], []
        if not frames:
            return
        first, *later = frames
        payload = self._delta(first, "".join([self._text(frame) or "" for frame in frames]))
        apart: list[Frame] = []
        for frame in later:
            bare = self._delta(frame, "")
            both = merged(payload, bare, self.protocol.delta_keys)
            if both is None:
                apart.append(self.context.writer.rewrite(frame, bare))
            else:
                payload = both
        if later:
            self.withheld()
            first = self.context.writer.rewrite(first, payload)
        self._cut(first)
        for frame in (*apart, *behind):
            self.put(frame)

    def withheld(self) -> None:
        """Note that the policy withholds a call."""
        self._reporter.shape(WHOLE_CALLS.names)

    def _shape(self, frame: Frame) -> None:
        """Send a delta of a call as the policy needs it."""
        if self._text(frame) is None:
            self.put(frame)
        elif self.joins:
            self._joined.append(frame)
        else:
            self._cut(frame)

    def _cut(self, frame: Frame) -> None:
        """Send a delta in the fragments that the policy needs. Unknown keys stay with the first."""
        text, *rest = self.policy.cut(None, False, self._text(frame) or "")  # noqa: FBT003
        if rest:
            self._reporter.shape(tuple(name for name in self.policy.names if name not in WHOLE_CALLS.names))
        self.put(self.context.writer.rewrite(frame, self._delta(frame, text)) if rest else frame)
        for piece in rest:
            payload = known_only(self._delta(frame, piece), self.protocol.delta_keys)
            self.put(self.context.writer.make(payload, frame.number, frame.name))

    def _text(self, frame: Frame) -> str | None:
        """The arguments in a delta; `None` if they are no text."""
        event = self.protocol.read(frame)
        text = None if event is None else self.protocol.get(event, ARGUMENTS)
        return text if isinstance(text, str) else None

    def _delta(self, frame: Frame, text: str) -> Payload:
        """The payload of a delta with other arguments."""
        event = self.protocol.read(frame)
        assert event is not None  # as its arguments were read from it
        body = self.protocol.laid(event, {ARGUMENTS: text})
        return body if self.protocol.wrapped is None else self.protocol.wrapped(frame, body)

    def put(self, frame: Frame) -> None:
        """Send a frame, after the deltas that are collected."""
        if self._joined:
            self._behind.append(frame)
            return
        if self.out and self.out[-1].trailing:
            self.out[-1] = self.context.writer.ended(self.out[-1])
        self.out.append(frame)
