"""What a request says back of earlier answers, in any protocol: the assistant's calls and the tools' results."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.model import ABSENT
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.model import Json


class CallFields(NamedTuple):
    """A call's fields as the request has them: text, an object, null, or `ABSENT`."""

    id: Json = ABSENT
    name: Json = ABSENT
    arguments: Json = ABSENT


@dataclass(frozen=True, slots=True)
class EchoedCall:
    """A call as the client says it back to the provider."""

    id: str | None
    """`None` where there is no place for it (Gemini, Ollama), `""` where that is empty."""
    name: str
    arguments: str
    """Argument text; an object is its JSON text. `""` where there is nothing."""
    written: CallFields = field(default=CallFields(), compare=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the client says that a tool gave."""

    id: str
    """Of the call; `""` where there is none."""
    name: str
    """Of the tool, where the protocol says it (Gemini, Ollama)."""
    text: str
    """The result as text; other content is its JSON text."""
    written_id: Json = field(default=ABSENT, compare=False)
    """The id as the request has it."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """All of a request's conversation that concerns tools."""

    calls: tuple[EchoedCall, ...]
    results: tuple[ToolResult, ...]
    texts: tuple[str, ...]
    """All other text, message by message."""
    continues: bool
    """Whether the server keeps the conversation: `previous_response_id`, `conversation`, `item_reference`, or Responses
    items that are results without their calls."""
    previous: str = ""
    """The id of the response that the request follows (`previous_response_id`), where it names one."""


_FUNCTION_ITEMS: Final = ("function_call", "custom_tool_call")
_OTHER_ITEMS: Final = ("computer_call", "local_shell_call", "shell_call", "apply_patch_call", "tool_search_call")
"""Responses items of calls that the client runs; what they do stands in `action` or `operation`."""
_ARGUMENTS: Final = ("arguments", "input", "args", "action", "operation")


def conversation(request: Json) -> Conversation:
    """Read a request's body. The shapes of OpenAI, Anthropic, Gemini and Ollama are known by themselves."""
    entries = [entry for key in ("messages", "input", "contents") for entry in _entries(json_access.get(request, key))]
    kept = any(json_access.get(request, key) for key in ("previous_response_id", "conversation"))
    calls = tuple(call for entry in entries for call in _calls(entry))
    kept = kept or any(json_access.get(entry, "type") == "item_reference" for entry in entries)
    return Conversation(
        calls,
        tuple(result for entry in entries for result in _results(entry)),
        tuple(text for entry in entries if (text := _text(entry))),
        kept or _answers_alone(json_access.items(json_access.get(request, "input")), calls),
        _str(json_access.get(request, "previous_response_id")),
    )


def _answers_alone(items: list[Json], calls: tuple[EchoedCall, ...]) -> bool:
    """Whether a result among Responses items has no call there."""
    ids = {call.id for call in calls}
    return any(result.id not in ids for item in items for result in _results(item) if json_access.get(item, "type"))


def _entries(said: Json) -> list[Json]:
    """Gemini lets a single content stand for the list."""
    return [said] if isinstance(said, dict | str) else list(json_access.items(said))


def _parts(entry: Json) -> Iterator[Json]:
    yield from json_access.items(json_access.get(entry, "content"))
    yield from json_access.items(json_access.get(entry, "parts"))


def _calls(entry: Json) -> Iterator[EchoedCall]:
    if json_access.get(entry, "role") != "tool":
        for call in json_access.items(json_access.get(entry, "tool_calls")):
            yield _call(call, _first(call, "function", "custom") or call, "id")
        if isinstance(legacy := json_access.get(entry, "function_call"), dict) and "parts" not in entry:
            yield _call(legacy, legacy, "id")
    if isinstance(entry, dict) and runs_on_client(entry):
        yield _call(entry, entry, "call_id")
    for part in _parts(entry):
        if json_access.get(part, "type") == "tool_use":
            yield _call(part, part, "id")
        elif said := _first(part, "functionCall", "function_call"):
            yield _call(said, said, "id")


def runs_on_client(item: dict[str, Json]) -> bool:
    """Whether a Responses item is a call that the client runs."""
    kind = item.get("type")
    if kind in _FUNCTION_ITEMS:
        return True
    if kind == "tool_search_call":
        return item.get("execution") == "client"
    where = json_access.get(item, "environment", "type")
    return kind in _OTHER_ITEMS and not (isinstance(where, str) and where.startswith("container"))


def _call(owner: Json, said: Json, key: str) -> EchoedCall:
    given = next((said[name] for name in _ARGUMENTS if name in said), ABSENT)
    its_id, name = json_access.get(owner, key), json_access.get(said, "name")
    if name is ABSENT and json_access.get(said, "type") in _OTHER_ITEMS:
        name = str(json_access.get(said, "type")).removesuffix("_call")
    written = CallFields(its_id, name, given)
    return EchoedCall(None if its_id is ABSENT else _str(its_id), _str(name), _as_text(given), written)


def _results(entry: Json) -> Iterator[ToolResult]:
    kind = json_access.get(entry, "type")
    if json_access.get(entry, "role") in ("tool", "function") and not any(_responses(entry)):
        name = json_access.get(entry, "tool_name") or json_access.get(entry, "name")
        yield _result(json_access.get(entry, "tool_call_id"), json_access.get(entry, "content"), name)
    elif isinstance(kind, str) and (kind.endswith("_call_output") or kind == "tool_search_output"):
        yield _result(json_access.get(entry, "call_id"), json_access.get(entry, "output"))
    for part in _parts(entry):
        if json_access.get(part, "type") == "tool_result":
            yield _result(json_access.get(part, "tool_use_id"), json_access.get(part, "content"))
    for said in _responses(entry):
        yield _result(json_access.get(said, "id"), json_access.get(said, "response"), json_access.get(said, "name"))


def _result(identity: Json, content: Json, name: Json = "") -> ToolResult:
    return ToolResult(_str(identity), _str(name), _content(content), identity)


def _responses(entry: Json) -> Iterator[dict[str, Json]]:
    for part in _parts(entry):
        if said := _first(part, "functionResponse", "function_response"):
            yield said


def _text(entry: Json) -> str:
    if isinstance(entry, str):
        return entry
    content = json_access.get(entry, "content")
    if json_access.get(entry, "role") in ("tool", "function"):
        return ""
    if isinstance(content, str):
        return content
    return "".join(text for part in _parts(entry) if isinstance(text := json_access.get(part, "text"), str))


def _content(said: Json) -> str:
    texts = [json_access.get(part, "text") for part in json_access.items(said)]
    if texts and all(isinstance(text, str) for text in texts):
        return "".join(map(str, texts))
    return _as_text(said)


def _as_text(said: Json) -> str:
    if isinstance(said, str):
        return said
    return "" if said is None or said is ABSENT else json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def _first(owner: Json, *keys: str) -> dict[str, Json] | None:
    return next((said for key in keys if isinstance(said := json_access.get(owner, key), dict)), None)


def _str(said: Json) -> str:
    return said if isinstance(said, str) else ""
