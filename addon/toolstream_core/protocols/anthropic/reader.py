"""Anthropic Messages: content blocks, `input_json_delta`.

https://docs.claude.com/en/docs/build-with-claude/streaming
"""

from __future__ import annotations

from toolstream_core.model import NOTHING, EventContent, Fragment, Json, Kind, Phase
from toolstream_core.protocols.errors import error_text, exception_text, unread_error
from toolstream_core.protocols.response_content import (
    finishes,
    kind_of,
    place_of,
    started_call,
    text_content,
    unstreamed_content,
)
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import may_hide_letters

_EVENTS = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    }
)

FALLBACK = "fallback"
"""The type of a block after which another model responds (beta `server-side-fallback`): cancels earlier calls."""

_ARGUMENTS = "input_json_delta"


def quiet(raw: bytes) -> bool:
    """Whether a frame is a delta of text or thinking. The event's name may be in its JSON or before it."""
    find = raw.find
    if find(b"partial_json") >= 0 or find(b"_block_st") >= 0 or find(b"message_") >= 0 or find(b"error") >= 0:
        return False
    if may_hide_letters(raw):
        return False
    return raw.count(b'"text_delta"') + raw.count(b'"thinking_delta"') == 1


def read(frame: Frame) -> EventContent:
    """The content of a frame; see `WireProtocol.read`."""
    payload = frame.json
    if not isinstance(payload, dict):
        return EventContent(error=unread_error(frame)) if frame.name == "error" else NOTHING
    match kind_of(payload, frame.name):
        case "content_block_start":
            return _start(payload)
        case "content_block_delta":
            return _delta(payload)
        case "content_block_stop":
            return EventContent((Fragment(index=place_of(payload.get("index")), phase=Phase.CLOSE),))
        case "message_start":
            return read_response(json_access.get(payload, "message"))._replace(end=False)
        case "message_delta":
            return EventContent(finishes=finishes(json_access.get(payload, "delta", "stop_reason")))
        case "message_stop":
            return EventContent(end=True)
        case "message" if isinstance(payload.get("content"), list):
            return read_response(payload)
    error = exception_text(payload, frame.name) or error_text(payload, frame.name)
    return EventContent(error=error) if error else NOTHING


def _start(payload: dict[str, Json]) -> EventContent:
    block, place = payload.get("content_block"), place_of(payload.get("index"))
    if not isinstance(block, dict):
        return EventContent(begins=(place,))
    kind = _kind(block)
    if kind is None:
        text = block.get("text")
        text = text if isinstance(text, str) else ""
        return EventContent(text=text, begins=(place,), cancels=block.get("type") == FALLBACK)
    return EventContent((started_call(block, "input", place, Phase.OPEN, kind),))


def _kind(block: dict[str, Json]) -> Kind | None:
    """The side that runs the call in a block: the client only `tool_use`, the provider any other with an input."""
    block_type = block.get("type")
    if block_type == "tool_use":
        return Kind.FUNCTION
    of_server = isinstance(block_type, str) and block_type.endswith("_tool_use")
    return Kind.SERVER if of_server or "input" in block else None


def _delta(payload: dict[str, Json]) -> EventContent:
    delta = payload.get("delta")
    if not isinstance(delta, dict):
        return NOTHING
    if "partial_json" in delta:
        fragment = delta["partial_json"]
        arguments, well_formed = (fragment, True) if isinstance(fragment, str) else json_access.argument_delta(fragment)
        well_formed = well_formed and delta.get("type", _ARGUMENTS) == _ARGUMENTS
        index = place_of(payload.get("index"))
        return EventContent((Fragment(index=index, arguments=arguments, phase=Phase.MORE, well_formed=well_formed),))
    return text_content(delta.get("text"), delta.get("thinking"))


def read_response(payload: Json) -> EventContent:
    """The content of a complete response; see `WireProtocol.read_response`."""
    fragments: list[Fragment] = []
    texts: list[str] = []
    for place, block in enumerate(json_access.items(json_access.get(payload, "content"))):
        if not isinstance(block, dict):
            continue
        kind = _kind(block)
        if block.get("type") == FALLBACK:
            fragments.clear()
        elif kind is not None:
            fragments.append(started_call(block, "input", place, Phase.WHOLE, kind))
        elif isinstance(text := block.get("text"), str):
            texts.append(text)
    return unstreamed_content(payload, fragments, texts, json_access.get(payload, "stop_reason"))


def recognise(name: str, payload: Json) -> bool:
    """Whether a frame can only be this protocol's, as `WireProtocol.recognise`."""
    if not isinstance(payload, dict):
        return False
    kind = kind_of(payload, name)
    if kind == "message":
        return isinstance(payload.get("content"), list) and "stop_reason" in payload
    return kind in _EVENTS and "response_id" not in payload
