"""What a request says back of earlier answers, in any protocol: the assistant's calls and the tools' results."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolstream_core.model import ABSENT
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.model import Json


@dataclass(frozen=True, slots=True)
class EchoedCall:
    """A call as the client says it back to the provider."""

    id: str | None
    """`None` where there is no place for it (Gemini, Ollama), `""` where that is empty."""
    name: str
    arguments: str
    """Argument text; an object is its JSON text. `""` where there is nothing."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the client says that a tool gave."""

    id: str
    """Of the call; `""` where there is none."""
    name: str
    """Of the tool, where the protocol says it (Gemini, Ollama)."""
    text: str
    """The result as text; other content is its JSON text."""


@dataclass(frozen=True, slots=True)
class History:
    """All of a request's conversation that concerns tools."""

    calls: tuple[EchoedCall, ...]
    results: tuple[ToolResult, ...]
    texts: tuple[str, ...]
    """All other text, message by message."""
    continues: bool
    """Whether the server keeps the conversation (`previous_response_id`, `conversation`, `item_reference`)."""


def history(request: Json) -> History:
    """Read a request's body. Shapes of all protocols are known by themselves."""
    entries = [entry for key in ("messages", "input", "contents") for entry in _entries(look.get(request, key))]
    kept = any(look.get(request, key) for key in ("previous_response_id", "conversation"))
    return History(
        tuple(call for entry in entries for call in _calls(entry)),
        tuple(result for entry in entries for result in _results(entry)),
        tuple(text for entry in entries if (text := _text(entry))),
        kept or any(look.get(entry, "type") == "item_reference" for entry in entries),
    )


def _entries(said: Json) -> list[Json]:
    """Gemini lets a single content stand for the list."""
    return [said] if isinstance(said, dict | str) else list(look.items(said))


def _parts(entry: Json) -> Iterator[Json]:
    yield from look.items(look.get(entry, "content"))
    yield from look.items(look.get(entry, "parts"))


def _calls(entry: Json) -> Iterator[EchoedCall]:
    if look.get(entry, "role") != "tool":
        for call in look.items(look.get(entry, "tool_calls")):
            yield _call(call, _first(call, "function", "custom") or call, "id")
        if isinstance(legacy := look.get(entry, "function_call"), dict) and "parts" not in entry:
            yield _call(legacy, legacy, "id")
    if look.get(entry, "type") in ("function_call", "custom_tool_call"):
        yield _call(entry, entry, "call_id")
    for part in _parts(entry):
        if look.get(part, "type") == "tool_use":
            yield _call(part, part, "id")
        elif said := _first(part, "functionCall", "function_call"):
            yield _call(said, said, "id")


def _call(owner: Json, said: Json, key: str) -> EchoedCall:
    given = next((said[name] for name in ("arguments", "input", "args") if name in said), "")
    its_id = look.get(owner, key)
    return EchoedCall(None if its_id is ABSENT else _str(its_id), _str(look.get(said, "name")), _as_text(given))


def _results(entry: Json) -> Iterator[ToolResult]:
    kind = look.get(entry, "type")
    if look.get(entry, "role") in ("tool", "function") and not any(_responses(entry)):
        name = look.get(entry, "tool_name") or look.get(entry, "name")
        yield ToolResult(_str(look.get(entry, "tool_call_id")), _str(name), _content(look.get(entry, "content")))
    elif isinstance(kind, str) and kind.endswith("_call_output"):
        yield ToolResult(_str(look.get(entry, "call_id")), "", _content(look.get(entry, "output")))
    for part in _parts(entry):
        if look.get(part, "type") == "tool_result":
            yield ToolResult(_str(look.get(part, "tool_use_id")), "", _content(look.get(part, "content")))
    for said in _responses(entry):
        yield ToolResult(_str(look.get(said, "id")), _str(look.get(said, "name")), _content(look.get(said, "response")))


def _responses(entry: Json) -> Iterator[dict[str, Json]]:
    for part in _parts(entry):
        if said := _first(part, "functionResponse", "function_response"):
            yield said


def _text(entry: Json) -> str:
    if isinstance(entry, str):
        return entry
    content = look.get(entry, "content")
    if look.get(entry, "role") in ("tool", "function"):
        return ""
    if isinstance(content, str):
        return content
    return "".join(text for part in _parts(entry) if isinstance(text := look.get(part, "text"), str))


def _content(said: Json) -> str:
    texts = [look.get(part, "text") for part in look.items(said)]
    if texts and all(isinstance(text, str) for text in texts):
        return "".join(map(str, texts))
    return _as_text(said)


def _as_text(said: Json) -> str:
    if isinstance(said, str):
        return said
    return "" if said is None or said is ABSENT else json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def _first(owner: Json, *keys: str) -> dict[str, Json] | None:
    return next((said for key in keys if isinstance(said := look.get(owner, key), dict)), None)


def _str(said: Json) -> str:
    return said if isinstance(said, str) else ""
