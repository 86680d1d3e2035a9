"""The calls, results and texts of earlier turns that a request repeats, in any protocol.

The messages of OpenAI Chat Completions and Responses, Anthropic, Bedrock, Gemini (contents and steps) and Ollama are
distinguished by their keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from toolstream_core.model import ABSENT, Json
from toolstream_core.protocols.requests.tools import unwrapped
from toolstream_core.protocols.response_content import SIGNATURE
from toolstream_core.wire import json_access


class CallFields(NamedTuple):
    """A call's fields exactly as in the request: a string, an object, null, or `ABSENT`."""

    id: Json = ABSENT
    name: Json = ABSENT
    arguments: Json = ABSENT


@dataclass(frozen=True, slots=True)
class ReturnedCall:
    """A tool call that the client sends back to the provider as part of the conversation."""

    id: str | None
    """`None` if the protocol has no field for it (Gemini, Ollama), `""` if the field is empty."""
    name: str
    arguments: str
    """The arguments as text; an object as compact JSON. `""` if there are none."""

    written: CallFields = field(default=CallFields(), compare=False)
    """The fields exactly as in the request."""
    signed: bool = field(default=False, compare=False)
    """Whether it has a thought signature (Gemini)."""
    flaw: str = field(default="", compare=False)
    """Why the API does not allow it in this form or place; `""` if it does."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool, as the client sends it."""

    id: str
    """The id of the result's call; `""` if there is none."""
    name: str
    """The tool's name, in protocols that send it (Gemini, Ollama)."""
    text: str
    """The result as text; content of any other type as JSON."""
    written_id: Json = field(default=ABSENT, compare=False)
    """The id exactly as in the request."""
    error: str = field(default="", compare=False)
    """The field by which the protocol marks the result as an error, `is_error`; `""` if there is none."""
    flaw: str = field(default="", compare=False)
    """Why the API does not allow it in this place; `""` if it does."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The parts of a request's conversation that concern tools."""

    calls: tuple[ReturnedCall, ...]
    results: tuple[ToolResult, ...]
    texts: tuple[str, ...]
    """The text of all other messages, in order."""
    continues: bool
    """Whether the server stores the conversation: the request has the id of a response, `conversation` or an
    `item_reference`, or has results of calls that it does not contain."""
    previous: str = ""
    """The id of the response that the request continues; `""` if there is none."""
    lone: frozenset[str] = frozenset()
    """The ids of results whose call the request does not contain, although the server stores nothing."""
    prompted: bool = False
    """Whether its last entry has a text of the user."""
    unreasoned: frozenset[str] = frozenset()
    """The ids of calls that were returned without their reasoning, which the model requires if it had any."""

    def results_of(self, call: ReturnedCall) -> list[ToolResult]:
        """The results of one of the calls: by its id, or by the tool's name if the protocol has no ids."""
        if call.id:
            return [one for one in self.results if one.id == call.id]
        alone = sum(other.name == call.name for other in self.calls) == 1
        return [one for one in self.results if alone and not one.id and one.name in ("", call.name)]


class Mention(NamedTuple):
    """One place for the id of a call in a request."""

    id: str
    call: bool
    """Whether it is the call itself; its result otherwise."""
    name: str
    """The name of the call's tool."""


_HISTORY: Final = ("messages", "input", "contents")
_PREVIOUS: Final = ("previous_response_id", "previous_interaction_id")
"""Keys with the id of the response that a request continues: Responses, Interactions."""
_FUNCTION_ITEMS: Final = ("function_call", "custom_tool_call")
_OTHER_ITEMS: Final = ("computer_call", "local_shell_call", "shell_call", "apply_patch_call", "tool_search_call")
"""Other Responses items for calls that the client runs; their arguments are under `action` or `operation`."""
_OF_MODEL: Final = ("reasoning", "thought", "model_output")
"""Items of Responses and steps of Interactions that are parts of a response, besides calls."""
_ERROR_MARKS: Final = {
    "is_error": (True,), "isError": (True,), "success": (False,), "status": ("error", "failed", "incomplete"),
}  # fmt: skip
_NO_CALLER: Final = re.compile(r"user|system|developer|(?:assistant){2,}")
"""Roles of messages that cannot have calls; some clients join the role of each delta."""
_THINKING_MODELS: Final = ("deepseek-reasoner", "kimi-k2-thinking", "kimi-k2-thinking-turbo", "kimi-k2.5")
"""Models that think unless the request denies it, as their providers name them."""
_OPENAI_MODEL: Final = re.compile(r"gpt-5|o[134]\b|codex-")
_REPEATED_TYPE: Final = re.compile(r"(?:function){2,}")
_ARGUMENTS: Final = ("arguments", "input", "args", "action", "operation")


class _ReadEntry(NamedTuple):
    """A message, or an item of one, with its calls and results."""

    source: Json
    calls: list[ReturnedCall]
    results: list[ToolResult]


def conversation(request: Json) -> Conversation:
    """Read the conversation from a request's body. Values of an unexpected type are ignored."""
    entries = [_ReadEntry(one, [*_calls(one)], [*_results(one)]) for one in _history(request)]
    calls = tuple(call for entry in entries for call in entry.calls)
    ids = frozenset(call.id for call in calls if call.id)
    results = tuple(_placed_results(entries, ids))
    stored = _is_stored(request)
    return Conversation(
        calls,
        results,
        tuple(text for entry in entries if (text := _text(entry.source))),
        stored or _has_lone_result(json_access.items(json_access.get(request, "input")), calls),
        previous(request),
        frozenset() if stored else frozenset(one.id for one in results if one.id) - ids,
        any(_prompts(entry.source for entry in entries[-1:])),
        frozenset(_unreasoned(entries) if _requires_reasoning(request) else ()),
    )


def _requires_reasoning(request: Json) -> bool:
    """Whether the provider refuses calls without their reasoning: DeepSeek, Moonshot, and OpenAI's Responses.

    https://api-docs.deepseek.com/guides/thinking_mode, continuedev/continue#10193, #11600 and #10018
    """
    model, mode = json_access.get(request, "model"), json_access.get(request, "thinking", "type")
    if not isinstance(model, str) or mode == "disabled":
        return False
    if json_access.get(request, "input") is not ABSENT:
        return _OPENAI_MODEL.match(model) is not None
    return model in _THINKING_MODELS or (mode == "enabled" and model.startswith(("deepseek-", "kimi-")))


def _unreasoned(entries: list[_ReadEntry]) -> Iterator[str]:
    """The ids of calls without their reasoning: messages without it, and the first item of a turn without its item."""
    covered = False
    for entry, calls, _ in entries:
        if json_access.get(entry, "tool_calls"):
            lacks = json_access.get(entry, "reasoning_content") in (ABSENT, None)
        else:
            covered = not _is_prompt(entry) and (covered or json_access.get(entry, "type") == "reasoning")
            lacks = not covered and str(json_access.get(entry, "id")).startswith("fc_")
            covered = covered or lacks
        if lacks:
            yield from (call.id for call in calls if call.id)


def _placed_results(entries: list[_ReadEntry], called: Collection[str]) -> Iterator[ToolResult]:
    """All results; those of Chat Completions, Anthropic and Bedrock must directly follow their calls.

    `called`: the ids of all calls. Anthropic joins consecutive messages of one role.
    """
    seen: set[str] = set()
    open_ids: set[str] = set()
    before = joins = None
    named = False  # whether the last calls have ids, in the form of Chat Completions: Ollama's arguments are objects
    for entry, own, found in entries:
        role = json_access.get(entry, "role")
        is_placed = role in ("tool", "user") and not json_access.get(entry, "parts")
        for one in found:
            if role == "tool" and not one.id and one.written_id in (ABSENT, None) and named:
                yield replace(one, flaw="its result has no `tool_call_id`")
            elif is_placed and one.id in called and one.id not in open_ids:
                how = "does not directly follow it" if one.id in seen else "comes before it"
                yield replace(one, flaw=one.flaw or f"its result {how}")
            else:
                yield one
        ids = {call.id for call in own if call.id}
        if own:
            named = len(ids) == len(own) and all(isinstance(call.written.arguments, str) for call in own)
        if ids:
            joins = not json_access.get(entry, "tool_calls")
            open_ids = open_ids | ids if joins and before == role else ids
        elif (role == "assistant" and not (joins and before == role)) or (role == "user" and not (found or joins)):
            open_ids = set()
        seen |= ids
        before = role


def previous(request: Json) -> str:
    """The id of the response that a request continues; `""` if there is none."""
    return next(filter(None, (_str(json_access.get(request, key)) for key in _PREVIOUS)), "")


def mentions(request: Json) -> Iterator[Mention]:
    """Every call and every result of a conversation, or in a client's message of Realtime, that has an id, in order."""
    for entry in (*_history(request), json_access.get(request, "item")):
        for call in _calls(entry):
            if isinstance(call.written.id, str):
                yield Mention(call.written.id, call=True, name=call.name)
        for result in _results(entry):
            if isinstance(result.written_id, str):
                yield Mention(result.id, call=False, name="")


def earlier_ids(request: Json) -> frozenset[str]:
    """The ids of the calls in the conversation so far."""
    return frozenset(one.id for one in mentions(request) if one.id)


def refers_to_kept_calls(request: Json) -> bool:
    """Whether a request may have results of calls that the server stores; each item of Realtime may.

    https://platform.openai.com/docs/guides/conversation-state
    """
    return json_access.get(request, "type") == "conversation.item.create" or _is_stored(request)


def results(request: Json) -> int:
    """The number of tool results in the conversation."""
    return sum(1 for entry in _history(request) for _ in _results(entry))


def ends_with_results(request: Json) -> bool:
    """Whether results of tools follow the assistant's last text or calls."""
    return results(after_last_response(request)) > 0


def words(request: Json) -> str:
    """The last user message; `""` if unknown."""
    return next(_prompts(reversed(_history(request))), "")


def opening(request: Json) -> str:
    """The first user message; `""` if unknown."""
    return next(_prompts(_history(request)), "")


def after_last_response(request: Json) -> dict[str, Json]:
    """A request with only the messages after the assistant's last one."""
    for key in _HISTORY:
        entries = json_access.items(json_access.get(unwrapped(request), key))
        if entries:
            last = max((at for at, entry in enumerate(entries) if _is_response(entry)), default=-1)
            return {key: entries[last + 1 :]}
    return {}


def without_history(request: Json) -> Json:
    """A request without its messages: the model, the tools, the options."""
    inner = unwrapped(request)
    if not (isinstance(request, dict) and isinstance(inner, dict)):
        return request
    own = request if inner is request else {**request, **inner, "request": ABSENT}
    return {key: value for key, value in own.items() if key not in _HISTORY and value is not ABSENT}


def _has_lone_result(items: list[Json], calls: tuple[ReturnedCall, ...]) -> bool:
    """Whether a result among Responses items belongs to a call that is not among them."""
    ids = {call.id for call in calls}
    return any(result.id not in ids for item in items for result in _results(item) if json_access.get(item, "type"))


def _history(request: Json) -> list[Json]:
    """The messages; a prompt alone is one, and Gemini also accepts a single content in place of the list."""
    values = [json_access.get(unwrapped(request), key) for key in _HISTORY]
    return [entry for value in values for entry in ([value] if isinstance(value, str) else json_access.items(value))]


def _is_stored(request: Json) -> bool:
    """Whether the server stores the conversation."""
    kept = any(json_access.get(request, key) for key in (*_PREVIOUS, "conversation"))
    return kept or any(json_access.get(entry, "type") == "item_reference" for entry in _history(request))


def _is_response(entry: Json) -> bool:
    kind = json_access.get(entry, "type")
    is_item = isinstance(kind, str) and (kind.endswith("_call") or kind in _OF_MODEL)
    return is_item or json_access.get(entry, "role") in ("assistant", "model")


def _prompts(entries: Iterable[Json]) -> Iterator[str]:
    """The user's texts."""
    for entry in entries:
        if _is_prompt(entry) and (text := _text(entry)):
            yield text


def _is_prompt(entry: Json) -> bool:
    """Whether an entry is the user's: a text, a message, or a step or content of Interactions."""
    by_user = json_access.get(entry, "role") == "user" or json_access.get(entry, "type") in ("user_input", "text")
    return isinstance(entry, str) or by_user


def _parts(entry: dict[str, Json]) -> list[Json]:
    return [*json_access.items(entry.get("content")), *json_access.items(entry.get("parts"))]


def _calls(entry: Json) -> Iterator[ReturnedCall]:
    if not isinstance(entry, dict):
        return
    if entry.get("role") != "tool":
        yield from _of_message(entry)
    if runs_on_client(entry):
        is_step = "call_id" not in entry and isinstance(entry.get("arguments"), dict)
        yield _call(entry, entry, "id" if is_step else "call_id")
    for part in _parts(entry):
        if json_access.get(part, "type") == "tool_use":
            yield _call(part, part, "id", _wrong_role(entry))
        elif function_call := _first(part, "functionCall", "function_call"):
            signature = json_access.get(part, "thoughtSignature") or json_access.get(part, "thought_signature")
            owner = function_call if function_call.get("id") else {}  # an empty or null id is as good as none
            yield replace(_call(owner, function_call, "id"), signed=bool(signature))
        elif (tool_use := _first(part, "toolUse")) and not str(tool_use.get("type")).startswith("server_"):
            yield _call(tool_use, tool_use, "toolUseId", _wrong_role(entry))


def _of_message(message: dict[str, Json]) -> Iterator[ReturnedCall]:
    for call in json_access.items(message.get("tool_calls")):
        if isinstance(call, dict):
            kind = call.get("type")
            odd = kind != "function" and _REPEATED_TYPE.fullmatch(str(kind))
            flaw = f"its type is {kind!r} instead of 'function'" if odd else _wrong_role(message)
            one = _call(call, _first(call, "function", "custom") or call, "id", flaw)
            signature = "extra_content" in call and json_access.get(call, *SIGNATURE)
            yield replace(one, signed=True) if signature and signature is not ABSENT else one
    if isinstance(legacy := message.get("function_call"), dict) and "parts" not in message:
        yield _call(legacy, legacy, "id")


def runs_on_client(item: dict[str, Json]) -> bool:
    """Whether a Responses item is a call that the client runs."""
    kind = item.get("type")
    if kind in _FUNCTION_ITEMS:
        return True
    if kind == "tool_search_call":
        return item.get("execution") == "client"
    where = json_access.get(item, "environment", "type")
    return kind in _OTHER_ITEMS and not (isinstance(where, str) and where.startswith("container"))


def _wrong_role(message: dict[str, Json]) -> str:
    """Why calls are not allowed in a message of this role; `""` if they are, or if the role is unknown."""
    role = message.get("role")
    if role in ("assistant", "model") or not _NO_CALLER.fullmatch(str(role)):
        return ""
    return f"returned in a message of the role {role!r} instead of 'assistant'"


def _call(owner: Json, fields: Json, key: str, flaw: str = "") -> ReturnedCall:
    arguments = next((fields[name] for name in _ARGUMENTS if name in fields), ABSENT)
    identity, name = json_access.get(owner, key), json_access.get(fields, "name")
    if name is ABSENT and json_access.get(fields, "type") in _OTHER_ITEMS:
        name = str(json_access.get(fields, "type")).removesuffix("_call")
    written = CallFields(identity, name, arguments)
    returned_id = None if identity is ABSENT else _str(identity)
    return ReturnedCall(returned_id, _str(name), _as_text(arguments), written, flaw=flaw)


def _results(entry: Json) -> Iterator[ToolResult]:
    if not isinstance(entry, dict):
        return
    kind, call_id, parts = entry.get("type"), entry.get("call_id", ABSENT), _parts(entry)
    responses = [one for part in parts if (one := _first(part, "functionResponse", "function_response")) is not None]
    of_tool = entry.get("role") in ("tool", "function") or isinstance(entry.get("tool_call_id"), str)
    if of_tool and not any(responses):
        name = entry.get("tool_name", ABSENT) or entry.get("name", ABSENT)
        yield _result(entry, entry.get("tool_call_id", ABSENT), entry.get("content", ABSENT), name)
    elif isinstance(kind, str) and (kind.endswith("_call_output") or kind == "tool_search_output"):
        yield _result(entry, call_id, entry.get("output", ABSENT))
    for part in (entry, *parts):
        if json_access.get(part, "type") == "function_result":
            content, name = json_access.get(part, "result"), json_access.get(part, "name")
            yield _result(part, json_access.get(part, "call_id"), content, name)
    for part in parts:
        if json_access.get(part, "type") == "tool_result":
            flaw = (
                "its result is in a message of the role 'assistant' instead of 'user'"
                if entry.get("role") == "assistant"
                else ""
            )
            yield _result(part, json_access.get(part, "tool_use_id"), json_access.get(part, "content"), flaw=flaw)
        elif (result := _first(part, "toolResult")) and entry.get("role") != "assistant":
            yield _result(result, json_access.get(result, "toolUseId"), json_access.get(result, "content"))
    for response in responses:
        content, name = json_access.get(response, "response"), json_access.get(response, "name")
        yield _result(response, json_access.get(response, "id"), content, name)


def _result(owner: Json, identity: Json, content: Json, name: Json = "", flaw: str = "") -> ToolResult:
    return ToolResult(_str(identity), _str(name), _content(content), identity, error_mark(owner), flaw)


def error_mark(result: Json) -> str:
    """The field by which a protocol marks a result as an error; `""` if there is none."""
    return next((key for key, values in _ERROR_MARKS.items() if json_access.get(result, key) in values), "")


def _text(entry: Json) -> str:
    if not isinstance(entry, dict):
        return _str(entry)
    if entry.get("role") in ("tool", "function"):
        return ""
    if isinstance(content := entry.get("content"), str):
        return content
    if entry.get("type") == "text":
        return _str(entry.get("text"))
    return "".join(text for part in _parts(entry) if isinstance(text := json_access.get(part, "text"), str))


def _content(value: Json) -> str:
    texts = [_text_of_part(part) for part in json_access.items(value)]
    if texts and all(isinstance(text, str) for text in texts):
        return "".join(map(str, texts))
    return _as_text(value)


def _text_of_part(part: Json) -> Json:
    """The text of a part of a result; Bedrock's parts may be JSON."""
    value = json_access.get(part, "json")
    return json_access.get(part, "text") if value is ABSENT else _as_text(value)


def _as_text(value: Json) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None or value is ABSENT else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _first(owner: Json, *keys: str) -> dict[str, Json] | None:
    return next((value for key in keys if isinstance(value := json_access.get(owner, key), dict)), None)


def _str(value: Json) -> str:
    return value if isinstance(value, str) else ""
