"""Responses that toolstream writes: complete responses, streams, errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from toolstream_core.model import ABSENT, Call, Json, Kind
from toolstream_core.protocols import openai_errors
from toolstream_core.protocols.errors import ErrorKind
from toolstream_core.protocols.writing import (
    CREATED,
    Cut,
    HealthyCall,
    HealthyResponse,
    Payloads,
    deltas,
    dictionary,
    named_event,
    uncut,
)
from toolstream_core.wire import json_access
from toolstream_core.wire.json_value import Payload


def streamed(response: Payload, request: Json, cut: Cut = uncut) -> Iterator[bytes]:
    """https://platform.openai.com/docs/api-reference/responses-streaming."""
    if response.get("object") == "response":
        for number, payload in enumerate(events(response, cut)):
            yield named_event({**payload, "sequence_number": number})


def events(response: Payload, cut: Cut) -> list[Payload]:
    """The events of a complete response, without sequence numbers."""
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    made: list[Payload] = [{"type": f"response.{kind}", "response": begun} for kind in ("created", "in_progress")]
    for place, item in enumerate(json_access.items(response.get("output"))):
        if isinstance(item, dict):
            made += item_events(item, place, cut)
    kind = response.get("status") if response.get("status") in ("failed", "incomplete") else "completed"
    return [*made, {"type": f"response.{kind}", "response": response}]


def assembled(payloads: Payloads, calls: Sequence[Call]) -> Json:
    """The complete response of a stream; see `WireProtocol.assembled`."""
    responses = [inner for payload in payloads if isinstance(inner := payload.get("response"), dict)]
    response: dict[str, Json] = {"id": "resp_saved", "object": "response", **(responses[-1] if responses else {})}
    if not response.get("output"):
        deltas = (one for one in payloads if one.get("type") == "response.output_text.delta")
        text = "".join(str(one.get("delta")) for one in deltas)
        response["output"] = [*_output_message(text), *(_saved_item(call) for call in calls)]
    return response


def item_events(item: Payload, place: int, cut: Cut = uncut) -> Iterator[Payload]:
    """The events of one output item."""
    where = {"item_id": item.get("id"), "output_index": place}
    key = {"function_call": "arguments", "custom_tool_call": "input"}.get(str(item.get("type")))
    opened = {**item, "status": "in_progress", **({key: ""} if key else {})}
    if item.get("type") == "message":
        opened["content"] = []
    yield {"type": "response.output_item.added", "output_index": place, "item": opened}
    if key:
        kind = "response.function_call_arguments" if key == "arguments" else "response.custom_tool_call_input"
        for text in cut(item.get(key, "")):
            yield {"type": f"{kind}.delta", **where, "delta": text}
        yield {"type": f"{kind}.done", **where, key: item.get(key, "")}
    for index, part in enumerate(json_access.items(item.get("content")) if item.get("type") == "message" else ()):
        here = {**where, "content_index": index}
        yield {"type": "response.content_part.added", **here, "part": {**dictionary(part), "text": ""}}
        text = dictionary(part).get("text", "")
        for delta in cut(text):
            yield {"type": "response.output_text.delta", **here, "delta": delta, "logprobs": []}
        yield {"type": "response.output_text.done", **here, "text": text, "logprobs": []}
        yield {"type": "response.content_part.done", **here, "part": part}
    yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _output_message(text: str) -> list[Json]:
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"id": "msg_saved", "type": "message", "role": "assistant", "status": "completed"}
    return [{**message, "content": [part]}] if text else []


def _saved_item(call: Call) -> Json:
    item = {"id": f"fc_saved_{call.position}", "call_id": call.id, "name": call.name, "status": "completed"}
    if call.kind is Kind.CUSTOM:
        return {**item, "type": "custom_tool_call", "input": call.arguments}
    return {**item, "type": "function_call", "arguments": call.arguments}


_USUAL: Final[dict[str, Any]] = {
    "instructions": None,
    "max_output_tokens": None,
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "metadata": {},
}
"""The request's fields that a response repeats, with their default values."""


def healthy_stream(response: HealthyResponse) -> Iterator[bytes]:
    """The events."""
    return streamed(healthy_unstreamed(response), response.request, deltas)


def healthy_unstreamed(response: HealthyResponse) -> dict[str, Any]:
    """https://platform.openai.com/docs/api-reference/responses/object."""
    read, written = response.tokens
    output = [_healthy_item(response, place, call) for place, call in enumerate(response.calls)]
    given = {key: json_access.get(response.request, key) for key in _USUAL}
    return {
        "id": f"resp_{response.hexadecimal('answer', 48)}",
        "object": "response",
        "created_at": CREATED,
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": response.model,
        "output": output or [_message(response)],
        "service_tier": "default",
        "usage": {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + written,
        },
        "user": None,
        **{key: usual if given[key] in (ABSENT, None) else given[key] for key, usual in _USUAL.items()},
    }


def warmed_up(request: Json, token: str) -> list[bytes]:
    """A response without output, which the next request may name; see `SocketWire.warm_up`.

    https://developers.openai.com/api/docs/guides/websocket-mode
    """
    if json_access.get(request, "generate") is not False:
        return []
    model = json_access.get(request, "model")
    response = HealthyResponse(model=model if isinstance(model, str) else "toolstream", request=request, token=token)
    return list(streamed({**healthy_unstreamed(response), "output": []}, request))


def _healthy_item(response: HealthyResponse, place: int, call: HealthyCall) -> dict[str, Any]:
    kind, key, prefix = ("custom_tool_call", "input", "ctc") if call.custom else ("function_call", "arguments", "fc")
    return {
        "id": f"{prefix}_{response.hexadecimal(f'item {place}', 48)}",
        "type": kind,
        "status": "completed",
        key: call.arguments,
        "call_id": f"call_{response.call_letters(place, 24)}",
        "name": call.name,
        **({"namespace": call.namespace} if call.namespace else {}),
    }


def _message(response: HealthyResponse) -> dict[str, Any]:
    part = {"type": "output_text", "text": response.text, "annotations": [], "logprobs": []}
    return {
        "id": f"msg_{response.hexadecimal('message', 48)}",
        "type": "message",
        "status": "completed",
        "content": [part],
        "role": "assistant",
    }


def error_event(kind: ErrorKind, number: int) -> bytes:
    """An error event with a sequence number; see `WireProtocol.error_event`."""
    error = {"type": "error", "code": openai_errors.word(kind), "message": kind.message, "param": None}
    return named_event({**error, "sequence_number": number})


error_body = openai_errors.body
