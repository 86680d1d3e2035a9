"""The events of Responses and Realtime: their types, and what a single event shows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolstream_core.model import ABSENT, Json
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import Payload

CREATED: Final = "response.created"
ADDED: Final = "response.output_item.added"
DELTA: Final = "response.function_call_arguments.delta"
DONE: Final = "response.function_call_arguments.done"
CLOSED: Final = "response.output_item.done"
COMPLETED: Final = "response.completed"
REALTIME_DONE: Final = "response.done"
TERMINAL: Final = frozenset({COMPLETED, "response.incomplete", "response.failed", "response.cancelled"})
OF_EVENT: Final = frozenset({"type", "sequence_number", "event_id", "response_id"})
"""Keys of an event that its response does not have; the last two belong to the Realtime API."""
OF_ANY: Final = frozenset({"response", "item", "item_id", "output_index"})
"""Every event has one of these keys."""

_COMPLETES = re.compile(
    rb"""(?:event:\ ?response\.completed\s|(?:event:[^\r\n]*\s+)?data:\ ?\{\s*"type"\s*:\s*"response\.completed")""",
    re.VERBOSE,
)
_STATUS = frozenset({"response.queued", "response.in_progress"})
_NO_USAGE: Final[dict[str, Json]] = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}


_CUSTOM: Final = "custom_tool_call"
_AS_FUNCTION: Final = {
    f"response.{_CUSTOM}_input.delta": DELTA,
    f"response.{_CUSTOM}_input.done": DONE,
    _CUSTOM: "function_call",
}
_AS_CUSTOM: Final = {function: custom for custom, function in _AS_FUNCTION.items()}


def as_function(payload: Payload) -> Payload | None:
    """Rename an event or item of a custom tool call to that of a function call; `None` for any other."""
    return _renamed(payload, _AS_FUNCTION, {"input": "arguments"})


def as_custom(payload: Payload) -> Payload:
    """Rename an event or item of a function call to that of a custom tool call."""
    return _renamed(payload, _AS_CUSTOM, {"arguments": "input"}) or payload


def _renamed(payload: Payload, kinds: Mapping[str, str], keys: Mapping[str, str]) -> Payload | None:
    kind = kinds.get(str(payload.get("type")))
    if kind is not None:
        return {keys.get(key, key): value for key, value in payload.items()} | {"type": kind}
    item = payload.get("item")
    inner = _renamed(item, kinds, keys) if isinstance(item, dict) else None
    return None if inner is None else {**payload, "item": inner}


def event_type(frame: Frame) -> str:
    """The type of an event; `""` for one that is not a JSON object."""
    payload = frame.json
    return str(payload.get("type", frame.name)) if isinstance(payload, dict) else ""


def by_status(payload: Payload) -> str:
    """The Responses type of a terminal event with the name of the Realtime API."""
    kind = f"response.{json_access.get(payload, 'response', 'status')}"
    return kind if kind in TERMINAL else COMPLETED


def completes(frame: Frame) -> bool:
    """Whether the last frame of a body is a truncated `response.completed`: every call arrived before it."""
    return frame.json is ABSENT and _COMPLETES.match(frame.raw.strip()) is not None


def is_comment(frame: Frame) -> bool:
    """Whether a frame has nothing but comments."""
    return all(line.startswith(b":") for line in frame.raw.strip().splitlines() if line)


def is_resumed(path: str, payload: dict[str, Json], kind: str) -> bool:
    """Whether a stream that begins with this event continues one that began over another connection.

    With `GET /responses/{id}?stream=true&starting_after=N` the client has the events up to N. Numbers begin at 0, so an
    event with number 1 that has the response's status is not the first; some providers begin at 1 with the first item.
    """
    number = payload.get("sequence_number")
    if "starting_after=" in path:
        return True
    return isinstance(number, int) and number >= 1 and kind != CREATED and (number > 1 or kind in _STATUS)


def missing_head(payload: dict[str, Json], kind: str) -> dict[str, Json] | None:
    """The response for the `response.created` that a stream beginning with this event lacks; `None` if it lacks none.

    It is made only from an event with the response: that has its id, which clients compare and send back.
    """
    response = payload if kind in TERMINAL and is_bare(payload) else payload.get("response")
    if kind == CREATED or not isinstance(response, dict) or not response.get("id") or not kind.startswith("response."):
        return None
    kept = {key: value for key, value in response.items() if key not in {"usage", *OF_EVENT}}
    return {**kept, "status": "in_progress", "output": []}


def usage_of(*responses: dict[str, Json]) -> dict[str, Json]:
    """The last usage in any of these responses; zeros if there is none, because clients read the numbers."""
    usages = [usage for response in responses if isinstance(usage := response.get("usage"), dict)]
    return usages[-1] if usages else _NO_USAGE


def is_bare(payload: dict[str, Json]) -> bool:
    """Whether a terminal event is the response itself, without the envelope (sap-ai-core-llm-proxy#35)."""
    return "response" not in payload and (payload.get("object") == "response" or "output" in payload)


OF_ITEM: Final = {key: ("item", key) for key in ("id", "call_id", "name", "namespace", "arguments")}
"""The path of an item's fields in events that add or close it."""
