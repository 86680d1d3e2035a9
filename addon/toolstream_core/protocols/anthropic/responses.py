"""Anthropic responses that toolstream writes: complete responses, streams, errors.

https://docs.claude.com/en/api/messages; errors: https://docs.claude.com/en/api/errors
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from toolstream_core.model import Call, Json, Kind
from toolstream_core.protocols.errors import ErrorKind
from toolstream_core.protocols.writing import (
    Cut,
    HealthyResponse,
    Payloads,
    arguments_value,
    deltas_after_empty,
    dictionary,
    named_event,
    uncut,
)
from toolstream_core.wire import json_access, numbers
from toolstream_core.wire.json_value import Payload


def streamed(response: Payload, request: Json, cut: Cut = uncut) -> Iterator[bytes]:
    """https://docs.claude.com/en/docs/build-with-claude/streaming."""
    if response.get("type") != "message":
        return
    begun = {**response, "content": [], "stop_reason": None, "stop_sequence": None}
    yield named_event({"type": "message_start", "message": begun})
    for index, block in enumerate(json_access.items(response.get("content"))):
        if not isinstance(block, dict):
            continue
        start, deltas = _block(block, cut)
        yield named_event({"type": "content_block_start", "index": index, "content_block": start})
        for delta in deltas:
            yield named_event({"type": "content_block_delta", "index": index, "delta": delta})
        yield named_event({"type": "content_block_stop", "index": index})
    delta = {key: response.get(key) for key in ("stop_reason", "stop_sequence")}
    yield named_event({"type": "message_delta", "delta": delta, "usage": response.get("usage") or {"output_tokens": 0}})
    yield named_event({"type": "message_stop"})


def assembled(payloads: Payloads, calls: Sequence[Call]) -> Json:
    """As `WireProtocol.assembled`."""
    message: dict[str, Json] = {"id": "msg_saved", "type": "message", "role": "assistant"}
    used: dict[str, Json] = {}
    text = ""
    for payload in payloads:
        for part in (payload.get("message"), payload.get("delta")):
            if isinstance(part, dict) and payload.get("type") in ("message_start", "message_delta"):
                message.update(part)
                used.update(dictionary(part.get("usage")))
        used.update(dictionary(payload.get("usage")))
        delta_text = json_access.get(payload, "delta", "text")
        text += delta_text if isinstance(delta_text, str) else ""
    uses = [
        {
            "type": "server_tool_use" if call.kind is Kind.SERVER else "tool_use",
            "id": call.id,
            "name": call.name,
            "input": arguments_value(call.arguments),
        }
        for call in calls
    ]
    return {**message, "content": [*([{"type": "text", "text": text}] if text else []), *uses], "usage": used}


def _block(block: Payload, cut: Cut) -> tuple[Payload, list[Payload]]:
    """The start of a content block, and the content of its deltas."""
    match block.get("type"):
        case "text":
            texts = cut(block.get("text", ""))
            return {**block, "text": ""}, [{"type": "text_delta", "text": text} for text in texts]
        case "thinking":
            delta = {"type": "thinking_delta", "thinking": block.get("thinking", "")}
            return {**block, "thinking": ""}, [delta]
        case "tool_use" | "server_tool_use":
            texts = cut(numbers.spaced(block.get("input", {})))
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": text} for text in texts]
    return block, []


_PING = b'event: ping\ndata: {"type": "ping"}\n\n'
_BEFORE_PING = 2
"""Events before the ping: the start of the message and of its first block."""


def healthy_stream(response: HealthyResponse) -> Iterator[bytes]:
    """The events."""
    for number, event in enumerate(streamed(healthy_unstreamed(response), response.request, deltas_after_empty)):
        if number == _BEFORE_PING:
            yield _PING
        yield event


def healthy_unstreamed(response: HealthyResponse) -> dict[str, Any]:
    """https://docs.claude.com/en/api/messages."""
    read, written = response.tokens
    uses = [
        {
            "type": "tool_use",
            "id": f"toolu_01{response.call_letters(place, 22)}",
            "name": call.name,
            "input": arguments_value(call.arguments),
        }
        for place, call in enumerate(response.calls)
    ]
    return {
        "id": f"msg_01{response.letters('answer', 22)}",
        "type": "message",
        "role": "assistant",
        "model": response.model,
        "content": uses or [{"type": "text", "text": response.text}],
        "stop_reason": "tool_use" if uses else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": read,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": written,
            "service_tier": "standard",
        },
    }


_WORDS: Final = {
    ErrorKind.INVALID: "invalid_request_error",
    ErrorKind.UNAUTHENTICATED: "authentication_error",
    ErrorKind.FORBIDDEN: "permission_error",
    ErrorKind.NOT_FOUND: "not_found_error",
    ErrorKind.RATE_LIMIT: "rate_limit_error",
    ErrorKind.SERVER: "api_error",
    ErrorKind.OVERLOADED: "overloaded_error",
}


def error_body(kind: ErrorKind, status: int, message: str) -> Payload:
    """As `WireProtocol.error_body`."""
    return {"type": "error", "error": {"type": _WORDS[kind], "message": message}}


def error_event(kind: ErrorKind, number: int) -> bytes:
    """As `WireProtocol.error_event`."""
    return named_event(error_body(kind, kind.status, kind.message))
