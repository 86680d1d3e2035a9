"""OpenAI Responses: output items, `response.function_call_arguments.delta`.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

from typing import Final

from toolstream_core.model import ABSENT, NOTHING, Absent, EventContent, Finish, Fragment, Json, Kind, Phase
from toolstream_core.protocols.errors import error_text, unread_error
from toolstream_core.protocols.response_content import place_of, unstreamed_content
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import may_hide_letters

_CLIENT_RUN = frozenset(
    {"custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call"},
)
_DELTAS = {
    "response.function_call_arguments.delta": Kind.FUNCTION,
    "response.custom_tool_call_input.delta": Kind.CUSTOM,
    "response.mcp_call_arguments.delta": Kind.SERVER,
    "response.code_interpreter_call_code.delta": Kind.SERVER,
}
_DONES = {kind.replace(".delta", ".done"): value for kind, value in _DELTAS.items()}
_ITEMS = {"response.output_item.added": Phase.OPEN, "response.output_item.done": Phase.CLOSE}
_TERMINAL = frozenset(
    # The last is of the Realtime API; some providers send it here (9router#2142).
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done"}
)


def quiet(raw: bytes) -> bool:
    """Whether a frame is only a delta of text or reasoning; see `WireProtocol.quiet`."""
    find = raw.find
    if find(b"_call") >= 0 or find(b"error") >= 0 or find(b'"response"') >= 0 or may_hide_letters(raw):
        return False
    if raw.count(b'"response.output_text.delta"') + raw.count(b'"response.reasoning') != 1:
        return False
    return raw.count(b"response.") == raw.count(b"response.output_text.delta") + raw.count(b"response.reasoning")


_THOUGHTS: Final = frozenset({"response.reasoning_text.delta", "response.reasoning_summary_text.delta"})


def read(frame: Frame) -> EventContent:
    """The content of an event; see `WireProtocol.read`."""
    payload = frame.json
    if not isinstance(payload, dict):
        return EventContent(error=unread_error(frame)) if frame.name == "error" else NOTHING
    kind = payload.get("type", frame.name)
    if not isinstance(kind, str):
        return NOTHING
    if kind in _DELTAS:
        return EventContent((_part(payload, "delta", _DELTAS[kind], Phase.MORE),))
    if kind in _DONES:
        key = "arguments" if "arguments" in payload else "input" if "input" in payload else "code"
        return EventContent((_part(payload, key, _DONES[kind], Phase.ARGUMENTS),))
    if kind in _ITEMS:
        fragment = _item(payload.get("item"), place_of(payload.get("output_index")), _ITEMS[kind])
        return EventContent((fragment,)) if fragment else NOTHING
    if kind == "response.output_text.delta":
        text = payload.get("delta")
        return EventContent(text=text) if isinstance(text, str) else NOTHING
    if kind in _THOUGHTS:
        thought = payload.get("delta")
        return EventContent(thought=thought) if isinstance(thought, str) else NOTHING
    return _about_response(payload, kind)


def _about_response(payload: dict[str, Json], kind: str) -> EventContent:
    if kind not in _TERMINAL:
        model = json_access.get(payload, "response", "model")
        error = error_text(payload, kind)
        return EventContent(model=model if isinstance(model, str) else None, error=error)
    # Some proxies leave the envelope out (sap-ai-core-llm-proxy#35).
    content = read_response(payload.get("response", payload))
    if content.finishes:
        return content
    return content._replace(finishes=(Finish(0, kind.removeprefix("response.").replace("done", "completed")),))


def _part(payload: dict[str, Json], key: str, kind: Kind, phase: Phase) -> Fragment:
    arguments, well_formed = payload.get(key, ABSENT), True
    if type(arguments) is not str:
        as_text = json_access.argument_delta if phase is Phase.MORE else json_access.argument_text
        arguments, well_formed = as_text(arguments)
    return Fragment(
        0,
        place_of(payload.get("output_index")),
        json_access.text(payload.get("call_id", ABSENT)),
        json_access.text(payload.get("item_id", ABSENT)),
        json_access.text(payload.get("name", ABSENT)),
        arguments,
        ABSENT,
        phase,
        kind,
        well_formed,
    )


def _item(item: Json, index: int | Absent, phase: Phase) -> Fragment | None:
    """The call in an output item, or `None`. `*_call_output` items are results, not calls."""
    if not isinstance(item, dict):
        return None
    kind = item.get("type")
    if not isinstance(kind, str) or not kind.endswith("_call"):
        return None
    arguments, well_formed = item["arguments"] if "arguments" in item else _other_arguments(item), True
    if type(arguments) is not str:
        as_text = json_access.argument_fragment if phase is Phase.OPEN else json_access.argument_text
        arguments, well_formed = as_text(arguments)
    name = item["name"] if "name" in item else ABSENT if kind == "function_call" else kind.removesuffix("_call")
    empty = arguments == "" or (arguments == "{}" and "arguments" not in item)
    return Fragment(
        0,
        index,
        json_access.text(item.get("call_id", ABSENT)),
        json_access.text(item.get("id", ABSENT)),
        json_access.text(name),
        ABSENT if phase is Phase.OPEN and empty else arguments,
        kind,
        phase,
        Kind.FUNCTION if kind == "function_call" else _other_kind(kind, item),
        well_formed,
        phase is not Phase.OPEN and item.get("status") == "incomplete",
    )


def _other_arguments(item: dict[str, Json]) -> Json:
    for key in ("input", "action", "actions", "operation", "code"):
        if key in item:
            return item[key]
    return ABSENT


def _other_kind(kind: str, item: dict[str, Json]) -> Kind:
    """The side that runs a call other than a function call; for `tool_search_call` and `shell_call` by their fields."""
    if kind == "tool_search_call":
        return Kind.CUSTOM if item.get("execution") == "client" else Kind.SERVER
    where = json_access.get(item, "environment", "type")
    hosted = kind == "shell_call" and isinstance(where, str) and where.startswith("container")
    return Kind.CUSTOM if kind in _CLIENT_RUN and not hosted else Kind.SERVER


def read_response(payload: Json) -> EventContent:
    """The content of a complete response; see `WireProtocol.read_response`."""
    fragments: list[Fragment] = []
    texts: list[str] = []
    for place, item in enumerate(json_access.items_at(payload, "output")):
        fragment = _item(item, place, Phase.WHOLE)
        if fragment:
            fragments.append(fragment)
        if isinstance(item, dict) and "content" in item:
            parts = [json_access.get(part, "text") for part in json_access.items(item["content"])]
            texts += [text for text in parts if isinstance(text, str)]
    status, reason = json_access.get(payload, "status"), json_access.get(payload, "incomplete_details", "reason")
    return unstreamed_content(payload, fragments, texts, f"{status}: {reason}" if isinstance(reason, str) else status)


def recognise(name: str, payload: Json) -> bool:
    """Whether a frame can only be this protocol's; see `WireProtocol.recognise`."""
    if not isinstance(payload, dict):
        return False
    if payload.get("object") == "response" and "output" in payload:
        return True
    kind = payload.get("type", name)
    return isinstance(kind, str) and kind.startswith("response.")
