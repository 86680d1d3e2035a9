"""Finds and changes the entry of a Cohere v2 event under `delta.message.tool_calls`.

https://docs.cohere.com/v2/docs/streaming
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolstream_core.model import ABSENT

if TYPE_CHECKING:
    from toolstream_core.model import Json

type Payload = dict[str, Any]

CALL_START: Final = "tool-call-start"
CALL_DELTA: Final = "tool-call-delta"
CALL_END: Final = "tool-call-end"
MESSAGE_START: Final = "message-start"
MESSAGE_END: Final = "message-end"
DONE: Final = b"[DONE]"
"""The data of the last event, which has no event line."""
FOREIGN_INDEX: Final = 1 << 20
"""The first index that no response has calls at; added to the index of events without a call."""
ARGUMENT_KEYS: Final = ("arguments", "parameters", "input")
"""Where arguments are found: the protocol's key, and those that others use."""


def kind_of(payload: Json, name: str = "") -> str:
    """The type of an event, or the event line's `name` if it has none; `""` if the type is not a string."""
    kind = payload.get("type", name) if isinstance(payload, dict) else ""
    return kind if isinstance(kind, str) else ""


def entries(payload: Json) -> list[Json]:
    """The entries of calls: one object in this protocol, a list where a server takes it for Chat Completions."""
    found = payload
    for key in ("delta", "message", "tool_calls"):
        found = found.get(key) if isinstance(found, dict) else None
    return [found] if isinstance(found, dict) else list(found) if isinstance(found, list) else []


def entry_of(payload: Json) -> Payload:
    """The one entry of an event, or an empty one."""
    found = entries(payload)
    return found[0] if len(found) == 1 and isinstance(found[0], dict) else {}


def function_of(entry: Json) -> Payload:
    """The function of an entry: under `function`, or beside the id."""
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


def with_entry(payload: Payload, entry: Json) -> Payload:
    """The event with another entry."""
    delta = payload.get("delta")
    delta = delta if isinstance(delta, dict) else {}
    message = delta.get("message")
    message = message if isinstance(message, dict) else {}
    return {**payload, "delta": {**delta, "message": {**message, "tool_calls": entry}}}


def with_arguments(payload: Payload, text: Json) -> Payload:
    """The event with other arguments, under the protocol's key and in its place."""
    entry = entry_of(payload)
    function = function_of(entry)
    key = argument_key(function) or ARGUMENT_KEYS[0]
    kept = {(ARGUMENT_KEYS[0] if name == key else name): value for name, value in function.items()}
    return with_entry(payload, {**entry, "function": {**kept, ARGUMENT_KEYS[0]: text}})


def arguments_in(payload: Json) -> Json:
    """The arguments in an event, unchanged, or `ABSENT`."""
    function = function_of(entry_of(payload))
    key = argument_key(function)
    return ABSENT if key is None else function[key]


def call_delta(index: Json, text: str) -> Payload:
    """A new event with a part of a call's arguments."""
    return with_entry({"type": CALL_DELTA, "index": index, "delta": {}}, {"function": {"arguments": text}})


def call_end(index: Json) -> Payload:
    """A new event that ends a call."""
    return {"type": CALL_END, "index": index}
