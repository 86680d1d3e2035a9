"""Reads OpenAI Chat Completions, from any server that implements it: `choices[].delta.tool_calls[]`.

https://platform.openai.com/docs/api-reference/chat-streaming/streaming
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from toolstream_core.model import ABSENT, NOTHING, EventContent, Finish, Fragment, Json, Kind, Phase
from toolstream_core.protocols.errors import error_text, exception_text, status_text, unread_error
from toolstream_core.protocols.response_content import SIGNATURE, call_fragment, requires_signatures
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import may_hide_letters

_DONE = b"[DONE]"
_FINISH_NULL = re.compile(rb'"finish_reason"\s*:\s*null')
_ERROR = re.compile(rb'"error"|^(?:event: ?)?error(?::|\r?$)', re.MULTILINE)
"""`error` as a JSON key, as an SSE field, or as the SSE event's name."""
_NO_MODEL: Final = "keepalive"
"""The model in chunks of oMLX that only keep the connection open (jundot/omlx#3420)."""


def quiet(raw: bytes) -> bool:
    r"""Whether a frame has only text: no key of calls, a delta in its choices, all finish reasons null.

    False if that is not certain. A frame with `\u00` is parsed because that may escape an ASCII letter of a key, and
    so is a frame without `choices`, such as `[DONE]`.
    """
    find = raw.find
    if find(b'"tool_calls"') >= 0 or find(b'"function_call"') >= 0 or find(b'"message"') >= 0:
        return False
    if find(b'"thought_signature"') >= 0:
        return False
    if find(b"error") >= 0 and _ERROR.search(raw):
        return False
    if may_hide_letters(raw):
        return False
    if raw.count(b'"choices"') != 1 or (find(b'"delta":{') < 0 and find(b'"delta": {') < 0):
        return False
    count = raw.count(b'"finish_reason"')
    return raw.count(b'"finish_reason":null') == count or len(_FINISH_NULL.findall(raw)) == count


def read(frame: Frame) -> EventContent:
    """The content of one SSE event, as `WireProtocol.read`."""
    payload = frame.json
    if not isinstance(payload, dict):
        return EventContent(end=True) if frame.data is not None and frame.data.strip() == _DONE else _unread(frame)
    fragments: list[Fragment] = []
    finishes: tuple[Finish, ...] = ()
    model = payload.get("model")
    text = thought = ""
    for place, choice in enumerate(json_access.items(payload.get("choices"))):
        if not isinstance(choice, dict):
            continue
        index = choice.get("index", place)
        number = index if type(index) is int else _number(choice, place)
        delta = choice.get("delta")
        if not isinstance(delta, dict) or not _collect(fragments, delta, number, Phase.MORE, model):
            _collect(fragments, choice.get("message"), number, Phase.WHOLE, model)
        reason = choice.get("finish_reason")
        if isinstance(reason, str):
            finishes += (Finish(number, reason),)
        if isinstance(delta, dict):
            content = delta.get("content")
            text += content if isinstance(content, str) else ""
            if "reasoning_content" in delta or "reasoning" in delta or "reasoning_details" in delta:
                thought += _thought(delta)
    error = error_text(payload, frame.name) if "error" in payload or "type" in payload or frame.name else None
    error = (
        error or error_text(payload.get("x_groq"), "") or _malformed(finishes) or exception_text(payload, frame.name)
    )
    if "base_resp" in payload:
        error = error or status_text(payload)
    named = model if model and isinstance(model, str) and model != _NO_MODEL else None
    return EventContent(tuple(fragments), finishes, text, named, error, thought=thought)


def _malformed(finishes: Iterable[Finish]) -> str | None:
    """The finish reason of a provider that drops the model's call, as Gemini does (coder/coder#28470)."""
    return next((finish.reason for finish in finishes if "malformed" in finish.reason.lower()), None)


def _thought(delta: dict[str, Json]) -> str:
    """The reasoning text: the first of its fields that is a string, or else the texts of its details (MiniMax)."""
    for key in ("reasoning_content", "reasoning"):
        if isinstance(text := delta.get(key), str):
            return text
    details = json_access.items(delta.get("reasoning_details"))
    texts = [json_access.get(one, "text") for one in details]
    return "".join(text for text in texts if isinstance(text, str))


def _unread(frame: Frame) -> EventContent:
    return EventContent(error=unread_error(frame)) if frame.name == "error" else NOTHING


def _collect(fragments: list[Fragment], message: Json, number: int, phase: Phase, model: Json) -> bool:
    """Append the tool-call entries of a delta or message to `fragments`; return whether there were any.

    The legacy `function_call` is read only if there are no `tool_calls`. `model`: that of the event.
    """
    if not isinstance(message, dict):
        return False
    listed = message.get("tool_calls")
    well_formed = isinstance(listed, list)
    entries = listed if well_formed else json_access.items(listed)
    if not entries:
        legacy = message.get("function_call")
        if not isinstance(legacy, dict):
            return False
        entries, well_formed = [{"function": legacy}], False
    fragments.extend([_fragment(entry, number, phase, well_formed=well_formed) for entry in entries])
    if type(model) is str and "gemini" in model and requires_signatures(model):
        fragments[-len(entries) :] = [
            one._replace(signed=bool(json_access.get(entry, *SIGNATURE)))
            for one, entry in zip(fragments[-len(entries) :], entries, strict=True)
        ]
    return True


def _fragment(entry: Json, number: int, phase: Phase, *, well_formed: bool) -> Fragment:
    if not isinstance(entry, dict):
        return Fragment(number, phase=phase, well_formed=False)
    function = entry.get("function")
    if not function and (custom := entry.get("custom")) and isinstance(custom, dict):
        return _custom_fragment(entry, custom, number, phase, well_formed=well_formed)
    if not isinstance(function, dict):
        function = entry if "name" in entry or "arguments" in entry else {}
        well_formed = False
    arguments = function.get("arguments", ABSENT)
    is_object = isinstance(arguments, dict)
    if not isinstance(arguments, str):
        other = function.get("parameters", ABSENT) if arguments is ABSENT else ABSENT
        first = phase is not Phase.MORE or entry.get("id") or function.get("name")
        as_text = json_access.argument_fragment if first else json_access.argument_delta
        arguments, was_text = as_text(arguments if other is ABSENT else other)
        well_formed = well_formed and was_text and other is ABSENT
    index = entry.get("index", ABSENT)
    if type(index) is not int and index is not ABSENT and index is not None:
        index, well_formed = json_access.integer(index), False
    fragment = call_fragment(entry, function, arguments, index, phase, choice=number, well_formed=well_formed)
    doubtful = isinstance(entry.get("custom"), dict)
    return fragment._replace(doubtful=doubtful, is_object=is_object) if doubtful or is_object else fragment


def _custom_fragment(
    entry: dict[str, Json], custom: dict[str, Json], number: int, phase: Phase, *, well_formed: bool
) -> Fragment:
    """An entry of a call of a custom tool, whose input is text of any form.

    https://platform.openai.com/docs/guides/function-calling#custom-tools
    """
    text, was_text = json_access.argument_text(custom.get("input", ABSENT))
    index = json_access.integer(entry.get("index", ABSENT))
    well_formed = well_formed and was_text and (isinstance(index, int) or index is ABSENT)
    return call_fragment(entry, custom, text, index, phase, choice=number, kind=Kind.CUSTOM, well_formed=well_formed)


def _number(choice: dict[str, Json], place: int) -> int:
    number = json_access.integer(choice.get("index", place))
    return number if isinstance(number, int) else place


def _model(payload: Json) -> str | None:
    model = json_access.get(payload, "model")
    return model if model and isinstance(model, str) and model != _NO_MODEL else None


def read_response(payload: Json) -> EventContent:
    """The content of a response without a stream; see `WireProtocol.read_response`."""
    fragments: list[Fragment] = []
    finishes: list[Finish] = []
    texts: list[str] = []
    for place, choice in enumerate(json_access.items(json_access.get(payload, "choices"))):
        if not isinstance(choice, dict):
            continue
        number = _number(choice, place)
        _collect(fragments, choice.get("message"), number, Phase.WHOLE, json_access.get(payload, "model"))
        if (reason := choice.get("finish_reason")) and isinstance(reason, str):
            finishes.append(Finish(number, reason))
        if (text := json_access.get(choice, "message", "content")) and isinstance(text, str):
            texts.append(text)
    return EventContent(
        tuple(fragments),
        tuple(finishes),
        "".join(texts),
        _model(payload),
        error_text(payload, "") or status_text(payload) or _malformed(finishes),
        end=True,
    )


def recognise(name: str, payload: Json) -> bool:
    """Whether a payload is certainly of this protocol, as `WireProtocol.recognise`."""
    if not isinstance(payload, dict):
        return False
    if str(payload.get("object", "")).startswith("chat.completion"):
        return "is_end" not in payload  # Baidu's own API for ERNIE
    return any(map(_is_choice, json_access.items(payload.get("choices"))))


def _is_choice(choice: Json) -> bool:
    """Whether a choice can only be this protocol's. Other APIs have choices too; their deltas have a `type`.

    https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api
    """
    if not isinstance(choice, dict):
        return False
    delta = choice.get("delta")
    typed = isinstance(delta, dict) and ("type" in delta or not delta)
    return "message" in choice or ("delta" in choice and ("finish_reason" in choice or not typed))
