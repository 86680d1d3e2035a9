"""Chat Completions responses that toolstream writes: complete responses, streams, errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from toolstream_core.model import Call, Json, Kind
from toolstream_core.protocols import openai_errors
from toolstream_core.protocols.chat.edit import CHUNK
from toolstream_core.protocols.errors import ErrorKind
from toolstream_core.protocols.writing import (
    CREATED,
    Cut,
    HealthyResponse,
    Payloads,
    add_texts,
    data_event,
    deltas,
    dictionary,
    merged,
    uncut,
)
from toolstream_core.wire import json_access
from toolstream_core.wire.json_value import Payload


def streamed(response: Payload, request: Json, cut: Cut = uncut) -> Iterator[bytes]:
    """https://platform.openai.com/docs/api-reference/chat-streaming."""
    head = {key: value for key, value in response.items() if key not in {"choices", "usage", "object"}}
    head["object"] = CHUNK

    def chunk(index: int, delta: Json, finish: Json = None) -> bytes:
        return data_event({**head, "choices": [{"index": index, "delta": delta, "finish_reason": finish}]})

    choices = [choice for choice in json_access.items(response.get("choices")) if isinstance(choice, dict)]
    for at, choice in enumerate(choices):
        index, message = choice.get("index", at), dictionary(choice.get("message"))
        for delta in _deltas(message, cut):
            yield chunk(index, delta)
        yield chunk(index, {}, choice.get("finish_reason"))
    if choices:
        if json_access.get(request, "stream_options", "include_usage") is True and response.get("usage"):
            yield data_event({**head, "choices": [], "usage": response["usage"]})
        yield b"data: [DONE]\n\n"


def _deltas(message: Payload, cut: Cut) -> Iterator[Payload]:
    delta = {key: value for key, value in message.items() if key != "tool_calls"}
    content = delta.get("content")
    if cut is uncut or not isinstance(content, str):
        yield delta
    else:
        yield {**delta, "content": ""}
        yield from ({"content": text} for text in cut(content))
    for place, call in enumerate(json_access.items(message.get("tool_calls"))):
        for entry in _entries(dictionary(call), cut):
            yield {"tool_calls": [{"index": place, **entry}]}


def _entries(call: Payload, cut: Cut) -> Iterator[Payload]:
    """The entries of one call: a header and fragments, if its arguments are split."""
    kind, field = ("function", "arguments") if "function" in call else ("custom", "input")
    tool = dictionary(call.get(kind))
    field_text = tool.get(field)
    if cut is uncut or not isinstance(field_text, str):
        yield call
    else:
        yield {**call, kind: {**tool, field: ""}}
        yield from ({kind: {field: text}} for text in cut(field_text))


def assembled(payloads: Payloads, calls: Sequence[Call]) -> Json:
    """As `WireProtocol.assembled`."""
    messages: dict[int, dict[str, Json]] = {call.choice: {} for call in calls}
    reasons: dict[int, Json] = {}
    for payload in payloads:
        for place, choice in enumerate(json_access.items(payload.get("choices"))):
            number = json_access.integer(json_access.get(choice, "index"))
            number = number if isinstance(number, int) else place
            add_texts(messages.setdefault(number, {}), json_access.get(choice, "delta"))
            reasons[number] = json_access.get(choice, "finish_reason") or reasons.get(number)
    choices = [
        {
            "index": number,
            "message": _chat_message(texts, [call for call in calls if call.choice == number]),
            "logprobs": None,
            "finish_reason": reasons.get(number) or None,
        }
        for number, texts in sorted(messages.items())
    ]
    head = {"id": "chatcmpl-saved", "created": 0, **merged(payloads, leaving=("choices", "obfuscation"))}
    return {**head, "object": "chat.completion", "choices": choices}


def _chat_message(texts: dict[str, Json], calls: Sequence[Call]) -> Json:
    message = {"role": "assistant", "content": None, "refusal": None, **texts}
    if calls:
        message["tool_calls"] = [
            entry(call.id, call.name, call.arguments, custom=call.kind is Kind.CUSTOM) for call in calls
        ]
    return message


def entry(identity: str, name: str, arguments: str, *, custom: bool) -> dict[str, Json]:
    """A call in a message."""
    if custom:
        return {"id": identity, "type": "custom", "custom": {"name": name, "input": arguments}}
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def healthy_stream(response: HealthyResponse) -> Iterator[bytes]:
    """The events."""
    return streamed(healthy_unstreamed(response), response.request, deltas)


def healthy_unstreamed(response: HealthyResponse) -> dict[str, Any]:
    """https://platform.openai.com/docs/api-reference/chat/object."""
    read, written = response.tokens
    message: dict[str, Any] = {"role": "assistant", "content": response.text or None, "refusal": None}
    calls = [
        entry(f"call_{response.call_letters(place, 24)}", call.name, call.arguments, custom=call.custom)
        for place, call in enumerate(response.calls)
    ]
    reason = "tool_calls" if calls else "stop"
    message |= {"tool_calls": calls} if calls else {}
    return {
        "id": f"chatcmpl-{response.letters('answer', 28)}",
        "object": "chat.completion",
        "created": CREATED,
        "model": response.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
        "service_tier": "default",
        "system_fingerprint": f"fp_{response.hexadecimal('system', 10)}",
    }


def error_event(kind: ErrorKind, number: int) -> bytes:
    """As `WireProtocol.error_event`."""
    return data_event(error_body(kind, kind.status, kind.message))


error_body = openai_errors.body
