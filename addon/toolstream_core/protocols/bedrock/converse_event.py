"""One message of a Converse stream: its kind and content, in either of the two encodings.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from toolstream_core.wire.frame import Frame

# ConverseStream names each message by its `:event-type`, and the payload is what the event says. Nova's models stream
# the same events through InvokeModelWithResponseStream: in `chunk` messages, each event under its name as the one key
# of an object. So do JSON lines that somebody made of either.

START: Final = "messageStart"
BLOCK_START: Final = "contentBlockStart"
BLOCK_DELTA: Final = "contentBlockDelta"
BLOCK_STOP: Final = "contentBlockStop"
STOP: Final = "messageStop"
METADATA: Final = "metadata"
KINDS: Final = frozenset({START, BLOCK_START, BLOCK_DELTA, BLOCK_STOP, STOP, METADATA})
INDEX: Final = "contentBlockIndex"
INPUT: Final = ("delta", "toolUse", "input")
"""Where a delta has its part of the arguments."""
_SAYING: Final = {BLOCK_START: "start", BLOCK_DELTA: "delta"}
"""By kind of event, the key of its content."""

type Payload = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ConverseEvent:
    """One event of a response."""

    kind: str
    """One of `KINDS`."""
    body: Payload
    """The payload of ConverseStream."""
    payload: Payload
    """The data of the frame, in which the body may be the value of the event's name."""

    @property
    def keyed(self) -> bool:
        """Whether the event's name is a key of its data."""
        return self.payload is not self.body

    @property
    def tool(self) -> Payload | None:
        """The call in a start or a delta."""
        payload = self.body.get(_SAYING.get(self.kind, ""))
        tool = payload.get("toolUse") if isinstance(payload, dict) else None
        return tool if isinstance(tool, dict) else None

    def with_body(self, body: Payload) -> Payload:
        """The data of the frame with another body."""
        return body if self.payload is self.body else {**self.payload, self.kind: body}


def event_of(frame: Frame) -> ConverseEvent | None:
    """The event that a frame is, or `None`."""
    payload = frame.json
    return read_event(frame.name, payload) if isinstance(payload, dict) else None


def read_event(name: str, payload: Payload) -> ConverseEvent | None:
    """The event of a message of this name, or `None`."""
    if name in KINDS:
        return ConverseEvent(name, payload, payload)
    for kind in payload.keys() & KINDS if name in {"", "chunk"} else ():
        body = payload[kind]
        if isinstance(body, dict):
            return ConverseEvent(kind, body, payload)
    return None
