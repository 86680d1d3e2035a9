"""Amazon Bedrock ConverseStream: content blocks by `contentBlockIndex`, `toolUse.input` in fragments.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolstream_core.calls.scanner import WHITE
from toolstream_core.model import ABSENT, NOTHING, Absent, EventContent, Fragment, Json, Kind, Phase
from toolstream_core.protocols.errors import MAX_ERROR, exception_text
from toolstream_core.protocols.response_content import finishes, place_of, text_content
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import Payload, may_hide_letters

# ConverseStream names each message by its `:event-type`, and the payload is the event's content. Nova's models stream
# the same events through InvokeModelWithResponseStream: in `chunk` messages, with each event under its name as the only
# key of an object. JSON lines made from either have the same form.

START: Final = "messageStart"
BLOCK_START: Final = "contentBlockStart"
BLOCK_DELTA: Final = "contentBlockDelta"
BLOCK_STOP: Final = "contentBlockStop"
STOP: Final = "messageStop"
METADATA: Final = "metadata"
KINDS: Final = frozenset({START, BLOCK_START, BLOCK_DELTA, BLOCK_STOP, STOP, METADATA})
INDEX: Final = "contentBlockIndex"
_CONTENT: Final = {BLOCK_START: "start", BLOCK_DELTA: "delta"}
"""By kind of event, the key of its content."""


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
        payload = self.body.get(_CONTENT.get(self.kind, ""))
        tool = payload.get("toolUse") if isinstance(payload, dict) else None
        return tool if isinstance(tool, dict) else None

    def with_body(self, body: Payload) -> Payload:
        """The data of the frame with another body."""
        return body if self.payload is self.body else {**self.payload, self.kind: body}


def event_of(frame: Frame) -> ConverseEvent | None:
    """The event in a frame, or `None`."""
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


_OF_AN_ERROR: Final = frozenset({"message", "originalMessage", "originalStatusCode", "p"})
_SPEAKING: Final = (b"toolUse", b"messageSt", b"BlockSt", b"metadata", b"xception", b"rror")


def quiet(raw: bytes) -> bool:
    """Whether a frame is a delta of text or reasoning, in a message of its kind."""
    for word in _SPEAKING:
        if raw.find(word) >= 0:
            return False
    if may_hide_letters(raw):
        return False
    deltas = raw.count(b'"delta":{"text":') + raw.count(b'"delta":{"reasoningContent":')
    return deltas == raw.count(BLOCK_DELTA.encode()) == 1


def read(frame: Frame) -> EventContent:
    """The content of a frame; see `WireProtocol.read`."""
    event = event_of(frame)
    if event is None:
        return EventContent(error=error) if (error := _error(frame)) else NOTHING
    place = place_of(event.body.get(INDEX))
    match event.kind:
        case "contentBlockStart":
            tool = event.tool
            return EventContent(begins=(place,)) if tool is None else EventContent((_call(tool, place, Phase.OPEN),))
        case "contentBlockDelta":
            return _delta(event, place)
        case "contentBlockStop":
            return EventContent((Fragment(index=place, phase=Phase.CLOSE),))
        case "messageStop":
            reason = event.body.get("stopReason")
            return EventContent(finishes=finishes(reason), error=_failure(reason), end=True)
    return NOTHING


def _failure(reason: Json) -> str | None:
    """The stop reason if it is an error: `malformed_tool_use`, `malformed_model_output`."""
    return reason if isinstance(reason, str) and reason.startswith("malformed_") else None


def _error(frame: Frame) -> str | None:
    """An exception, or an unnamed error of the service: a message with only a `message`."""
    payload = frame.json
    if not isinstance(payload, dict) or not frame.name:
        return None
    if error := exception_text(payload, frame.name):
        return error
    message = payload.get("message")
    if not isinstance(message, str) or not payload.keys() <= _OF_AN_ERROR:
        return None
    return f"{frame.name}: {message}"[:MAX_ERROR]


def _call(tool: Payload, index: int | Absent, phase: Phase) -> Fragment:
    """A call in its start or in a complete response; Bedrock itself runs a `server_tool_use`."""
    arguments, _ = json_access.argument_text(tool.get("input", ABSENT))
    if phase is Phase.OPEN and isinstance(arguments, str) and arguments.strip(WHITE) in {"{}", ""}:
        arguments = ABSENT
    kind = tool.get("type")
    return Fragment(
        index=index,
        id=json_access.text(tool.get("toolUseId", ABSENT)),
        name=json_access.text(tool.get("name", ABSENT)),
        arguments=arguments,
        type=json_access.text(tool.get("type", ABSENT)),
        phase=phase,
        kind=Kind.SERVER if isinstance(kind, str) and kind.startswith("server_") else Kind.FUNCTION,
    )


def _delta(event: ConverseEvent, place: int | Absent) -> EventContent:
    tool = event.tool
    if tool is not None:
        arguments, well_formed = json_access.argument_delta(tool.get("input", ABSENT))
        return EventContent((Fragment(index=place, arguments=arguments, well_formed=well_formed),))
    text = json_access.get(event.body, "delta", "text")
    thought = json_access.get(event.body, "delta", "reasoningContent", "text")
    return text_content(text, thought)


def read_response(payload: Json) -> EventContent:
    """The content of a complete response; see `WireProtocol.read_response`."""
    fragments: list[Fragment] = []
    texts: list[str] = []
    blocks = json_access.items(json_access.get(payload, "output", "message", "content"))
    for place, block in enumerate(blocks):
        tool, text = json_access.get(block, "toolUse"), json_access.get(block, "text")
        if isinstance(tool, dict):
            fragments.append(_call(tool, place, Phase.WHOLE))
        elif isinstance(text, str):
            texts.append(text)
    error, reason = json_access.get(payload, "message"), json_access.get(payload, "stopReason")
    failed = isinstance(error, str) and not blocks
    return EventContent(
        tuple(fragments),
        finishes(reason),
        "".join(texts),
        error=str(error)[:MAX_ERROR] if failed else _failure(reason),
        end=True,
    )


def recognise(name: str, payload: Json) -> bool:
    """Whether a frame can only be this protocol's, as `WireProtocol.recognise`."""
    if not isinstance(payload, dict):
        return False
    if isinstance(json_access.get(payload, "output", "message", "content"), list):
        return "stopReason" in payload
    event = read_event(name, payload)
    if event is None or event.kind == METADATA:
        return False
    own = {BLOCK_START: "start", BLOCK_DELTA: "delta", BLOCK_STOP: "contentBlockIndex", STOP: "stopReason"}
    return own.get(event.kind, "role") in event.body
