"""The turns of a conversation in the common forms: tool results and user messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolstream_core.model import Json


def results(request: Json) -> int:
    """How many tool results there are.

    `tool` messages, `…_call_output` items, `tool_result` blocks, `functionResponse` parts.
    """
    return sum(1 for _ in _results(request))


def words(request: Json) -> str:
    """The last user message; `""` if unknown."""
    return next(_prompts(request, reversed(list(_entries(request)))), "")


def opening(request: Json) -> str:
    """The first user message; `""` if unknown."""
    return next(_prompts(request, _entries(request)), "")


def after_last_response(request: Json) -> dict[str, Json]:
    """A request with only the messages after the assistant's last one."""
    for key in ("messages", "input", "contents"):
        entries = json_access.items(json_access.get(request, key))
        if entries:
            last = max((at for at, entry in enumerate(entries) if _is_response(entry)), default=-1)
            return {key: entries[last + 1 :]}
    return {}


def _is_response(entry: Json) -> bool:
    if json_access.get(entry, "role") in ("assistant", "model"):
        return True
    kind = json_access.get(entry, "type")
    return isinstance(kind, str) and (kind.endswith("_call") or kind == "reasoning")


def _prompts(request: Json, entries: Iterable[Json]) -> Iterator[str]:
    """The user's texts among entries; the prompt alone where the request has one."""
    prompt = json_access.get(request, "input")
    if isinstance(prompt, str):
        yield prompt
        return
    for entry in entries:
        if json_access.get(entry, "role") == "user" and (text := _text(entry)):
            yield text


def _entries(request: Json) -> Iterator[Json]:
    for key in ("messages", "input", "contents"):
        yield from json_access.items(json_access.get(request, key))


def _results(request: Json) -> Iterator[Json]:
    for entry in _entries(request):
        kind = json_access.get(entry, "type")
        by_role = json_access.get(entry, "role") in ("tool", "function")
        if by_role or (isinstance(kind, str) and kind.endswith("_call_output")):
            yield entry
            continue
        for part in _parts(entry):
            if json_access.get(part, "type") == "tool_result" or _has_response(part):
                yield part


def _parts(entry: Json) -> Iterator[Json]:
    for key in ("content", "parts"):
        yield from json_access.items(json_access.get(entry, key))


def _has_response(part: Json) -> bool:
    return any(isinstance(json_access.get(part, key), dict) for key in ("functionResponse", "function_response"))


def _text(entry: Json) -> str:
    content = json_access.get(entry, "content")
    if isinstance(content, str):
        return content
    return "".join(text for part in _parts(entry) if isinstance(text := json_access.get(part, "text"), str))
