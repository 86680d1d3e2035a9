"""Parts of Chat Completions chunks, as programs print them: a choice, a delta, an entry of a delta's calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolstream_core.calls.json_text import is_object
from toolstream_core.model import ABSENT, Json
from toolstream_core.wire import json_access

_OF_DELTA: Final = frozenset(
    {"audio", "content", "function_call", "reasoning", "reasoning_content", "refusal", "role", "tool_calls"}
)
_ROLES: Final = (None, "", "assistant")


_PRINTED: Final = {"toolCalls": "tool_calls", "finishReason": "finish_reason"}
"""Keys of chunks as SDKs for JavaScript name them (Mistral's), and as they are sent."""


def as_sent(chunk: Json) -> Json:
    """A chunk with the names of the keys as they are sent; the same object if it has them."""
    choices = json_access.get(chunk, "choices")
    if not isinstance(chunk, dict) or not isinstance(choices, list):
        return chunk
    renamed: list[Json] = []
    for choice in choices:
        delta = json_access.get(choice, "delta")
        named = {**choice, "delta": _renamed(delta)} if isinstance(delta, dict) else choice
        renamed.append(_renamed(named) if isinstance(named, dict) else named)
    return chunk if renamed == choices else {**chunk, "choices": renamed}


def _renamed(value: dict[str, Json]) -> dict[str, Json]:
    return {_PRINTED.get(key, key): item for key, item in value.items()}


def chunk_of(value: Json) -> dict[str, Json] | None:
    """The chunk with the fields of a part, if the value is a part of a chunk; else `None`.

    An entry needs its index, which the calls of a complete message do not have.
    """
    if not isinstance(value, dict):
        return None
    if isinstance(delta := value.get("delta"), dict):
        is_choice = _is_delta(delta) or (not delta and "finish_reason" in value)
        return {"choices": [{"index": 0, **value}]} if is_choice else None
    if _is_delta(value):
        return {"choices": [{"index": 0, "delta": value}]}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [value]}}]} if _is_entry(value) else None


def shows_streaming(chunk: Mapping[str, Json]) -> bool:
    """Whether a chunk from `chunk_of` has a call, and cannot be a complete message.

    It has its choice with the finish reason, or only a part of the arguments.
    """
    entries = json_access.items_at(json_access.get(chunk, "choices", 0), "delta", "tool_calls")
    parts = (json_access.get(entry, "function", "arguments") for entry in entries)
    return bool(entries) and (has_finish(chunk) or not all(isinstance(part, str) and is_object(part) for part in parts))


def has_finish(chunk: Mapping[str, Json]) -> bool:
    """Whether the part was printed with its finish reason, which may be null."""
    return json_access.get(chunk, "choices", 0, "finish_reason") is not ABSENT


def _is_delta(value: Mapping[str, Json]) -> bool:
    if not value or not _OF_DELTA.issuperset(value) or value.get("role") not in _ROLES:
        return False
    entries = json_access.items(value.get("tool_calls"))
    return all(map(_is_entry, entries)) and ("tool_calls" in value or isinstance(value.get("content"), str))


def _is_entry(value: Json) -> bool:
    if not isinstance(value, dict) or "index" not in value:
        return False
    function = value.get("function")
    texts = (json_access.get(function, key) for key in ("name", "arguments"))
    return isinstance(function, dict) and any(isinstance(text, str) for text in texts)
