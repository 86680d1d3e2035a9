"""Cohere v2 chat: `tool-call-start`, `-delta`, `-end`, `message-end`.

https://docs.cohere.com/v2/docs/streaming
"""

from __future__ import annotations

from typing import Final

from toolstream_core.model import ABSENT, NOTHING, Absent, EventContent, Fragment, Json, Phase
from toolstream_core.protocols.errors import MAX_ERROR, error_text, unread_error
from toolstream_core.protocols.response_content import call_fragment, finishes, kind_of, place_of, text_content
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_paths import put
from toolstream_core.wire.json_value import Payload, may_hide_letters

CALL_START: Final = "tool-call-start"
CALL_DELTA: Final = "tool-call-delta"
CALL_END: Final = "tool-call-end"
MESSAGE_START: Final = "message-start"
MESSAGE_END: Final = "message-end"
DONE: Final = b"[DONE]"
"""The data of the last event, which has no event line."""
FOREIGN_INDEX: Final = 1 << 20
"""The first index that no response has calls at; added to the index of events without a call."""
ENTRY: Final = ("delta", "message", "tool_calls")
"""The path of the entry in an event of a call."""
ARGUMENT_KEYS: Final = ("arguments", "parameters", "input")
"""The keys of arguments: the protocol's, and those that others use."""


def entries(payload: Json) -> list[Json]:
    """The entries of calls: one object in this protocol, a list from servers that treat it as Chat Completions."""
    found = json_access.get(payload, *ENTRY)
    return [found] if isinstance(found, dict) else list(found) if isinstance(found, list) else []


def function_of(entry: Json) -> Payload:
    """The function of an entry: under `function`, or the entry itself."""
    if not isinstance(entry, dict):
        return {}
    function = entry.get("function")
    if isinstance(function, dict):
        return function
    return entry if {"name", *ARGUMENT_KEYS} & entry.keys() else {}


def argument_key(function: Payload) -> str | None:
    """The key that has the arguments, or `None`."""
    for key in ARGUMENT_KEYS:
        if key in function:
            return key
    return None


def with_usual_key(entry: Json) -> Json:
    """The entry with its arguments under the protocol's key and in their place; the same object if they are there."""
    function = function_of(entry)
    key = argument_key(function)
    if key in (None, ARGUMENT_KEYS[0]):
        return entry
    renamed = {(ARGUMENT_KEYS[0] if name == key else name): value for name, value in function.items()}
    return {**entry, "function": renamed}


def call_delta(index: Json, text: str) -> Payload:
    """A new event with a part of a call's arguments."""
    return put({"type": CALL_DELTA, "index": index}, ENTRY, {"function": {"arguments": text}})


def call_end(index: Json) -> Payload:
    """A new event that ends a call."""
    return {"type": CALL_END, "index": index}


_PHASES: Final = {CALL_START: Phase.OPEN, CALL_DELTA: Phase.MORE, CALL_END: Phase.CLOSE}
_EVENTS: Final = frozenset(
    {
        *_PHASES,
        "content-start",
        "content-delta",
        "content-end",
        "tool-plan-delta",
        "citation-start",
        "citation-end",
    }
)
"""Types that no other protocol has; `message-start` and `message-end` count with a delta only."""
_QUIET: Final = (b"event: content-delta\ndata: {", b"event: tool-plan-delta\ndata: {")
"""The beginning of frames with text."""


def quiet(raw: bytes) -> bool:
    """Whether a frame is a delta of text, thinking or plan with its event line. A delta without one is reported."""
    find = raw.find
    if find(b"tool-call") >= 0 or find(b"tool_calls") >= 0 or find(b"message-") >= 0 or find(b"error") >= 0:
        return False
    if may_hide_letters(raw):
        return False
    count = raw.count(b'"content-delta"') + raw.count(b'"tool-plan-delta"')
    named = sum(raw.count(b"\n" + begin) + raw.startswith(begin) for begin in _QUIET)
    return count == named == 1


def read(frame: Frame) -> EventContent:
    """The content of a frame; see `WireProtocol.read`."""
    payload = frame.json
    if not isinstance(payload, dict):
        return _unread(frame)
    kind = kind_of(payload, frame.name)
    if kind in _PHASES:
        return _of_call(payload, _PHASES[kind])
    if kind == MESSAGE_END:
        return _message_end(payload)
    if kind in {"content-start", "content-delta"}:
        return _content(json_access.get(payload, "delta", "message", "content"))
    if kind == "tool-plan-delta":
        return _content({"thinking": json_access.get(payload, "delta", "message", "tool_plan")})
    error = error_text(payload, frame.name) or _bare_error(payload)
    return EventContent(error=error) if error else NOTHING


def _unread(frame: Frame) -> EventContent:
    if frame.data is not None and frame.data.strip() == DONE:
        return EventContent(end=True)
    return EventContent(error=unread_error(frame)) if frame.name == "error" else NOTHING


def _bare_error(payload: dict[str, Json]) -> str | None:
    """The body of an HTTP error inside a stream, as gateways send it: `{"message": "…"}`, without a type."""
    message = payload.get("message")
    return message[:MAX_ERROR] if isinstance(message, str) and message and "type" not in payload else None


def _of_call(payload: dict[str, Json], phase: Phase) -> EventContent:
    """The events of a call; without an entry they only have an index."""
    index = place_of(payload.get("index"))
    found = entries(payload) or [{}]
    return EventContent(tuple([_fragment(entry, index, phase) for entry in found]))


def _fragment(entry: Json, index: int | Absent, phase: Phase) -> Fragment:
    function = function_of(entry)
    key = argument_key(function)
    arguments, was_text = ABSENT if key is None else function[key], True
    if type(arguments) is not str:
        as_text = json_access.argument_delta if phase is Phase.MORE else json_access.argument_fragment
        arguments, was_text = as_text(arguments)
    head = entry if isinstance(entry, dict) else {}
    well_formed = was_text and key in (None, ARGUMENT_KEYS[0])
    return call_fragment(head, function, arguments, index, phase, well_formed=well_formed)


def _content(block: Json) -> EventContent:
    """A block of text or thinking, or a part of one."""
    return text_content(json_access.get(block, "text"), json_access.get(block, "thinking"))


def _message_end(payload: dict[str, Json]) -> EventContent:
    reason = json_access.get(payload, "delta", "finish_reason")
    reason = reason if isinstance(reason, str) else ""
    error = error_text(json_access.get(payload, "delta"), "") or error_text(payload, "")
    if error is None and reason == "ERROR":
        error = "finish reason ERROR"
    return EventContent(finishes=finishes(reason), error=error, end=True)


def read_response(payload: Json) -> EventContent:
    """The content of a complete response; see `WireProtocol.read_response`."""
    message = json_access.get(payload, "message")
    calls = json_access.items(json_access.get(message, "tool_calls"))
    content = json_access.get(message, "content")
    blocks = [_content(block) for block in json_access.items(content)]
    plan = json_access.get(message, "tool_plan")
    error = error_text(payload, "") or (_bare_error(payload) if isinstance(payload, dict) else None)
    return EventContent(
        tuple(_fragment(entry, place, Phase.WHOLE) for place, entry in enumerate(calls)),
        finishes(json_access.get(payload, "finish_reason")),
        content if isinstance(content, str) else "".join(block.text for block in blocks),
        error=error,
        end=True,
        thought=(plan if isinstance(plan, str) else "") + "".join(block.thought for block in blocks),
    )


def recognise(name: str, payload: Json) -> bool:
    """Whether a frame can only be this protocol's, as `WireProtocol.recognise`."""
    if not isinstance(payload, dict):
        return False
    kind = kind_of(payload, name)
    if kind == MESSAGE_START:
        return isinstance(json_access.get(payload, "delta", "message"), dict)
    if kind == MESSAGE_END:
        return isinstance(payload.get("delta"), dict)
    if kind == "":
        role = json_access.get(payload, "message", "role")
        return role == "assistant" and "finish_reason" in payload and "choices" not in payload
    return kind in _EVENTS
