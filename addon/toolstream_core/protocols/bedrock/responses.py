"""Converse responses that toolstream writes: complete responses, streams, errors.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html; errors:
https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from toolstream_core.model import Call, Json
from toolstream_core.protocols.bedrock.reader import (
    BLOCK_DELTA,
    BLOCK_START,
    BLOCK_STOP,
    INDEX,
    KINDS,
    METADATA,
    START,
    STOP,
)
from toolstream_core.protocols.errors import ErrorKind, exception_message
from toolstream_core.protocols.writing import (
    Cut,
    HealthyResponse,
    Payloads,
    arguments_value,
    deltas_after_empty,
    dictionary,
    uncut,
)
from toolstream_core.wire import json_access, numbers
from toolstream_core.wire.aws_event_stream import fresh
from toolstream_core.wire.json_value import Payload
from toolstream_core.wire.write import encoded

_REASONING: Final = ("text", "signature")
"""The parts of reasoning that are not redacted."""


def streamed(response: Payload, request: Json, cut: Cut = uncut) -> Iterator[bytes]:
    """As `WireProtocol.streamed`."""
    message = json_access.get(response, "output", "message")
    if not isinstance(message, dict):
        return
    yield _message(START, {"role": message.get("role", "assistant")})
    for index, block in enumerate(json_access.items(message.get("content"))):
        for kind, body in _block(dictionary(block), cut):
            yield _message(kind, {INDEX: index, **body})
        yield _message(BLOCK_STOP, {INDEX: index})
    ending = {key: response[key] for key in ("stopReason", "additionalModelResponseFields") if key in response}
    yield _message(STOP, ending)
    yield _message(METADATA, {key: response[key] for key in ("usage", "metrics", "trace") if key in response})


def assembled(payloads: Payloads, calls: Sequence[Call]) -> Json:
    """As `WireProtocol.assembled`; the names of messages are missing, but each has different keys."""
    bodies = [_unkeyed(payload) for payload in payloads]
    blocks: dict[Json, Payload] = {}
    for body in bodies:
        _add(blocks.setdefault(json_access.integer(body.get(INDEX)), {}), dictionary(body.get("delta")))
    uses = [
        {"toolUse": {"toolUseId": call.id, "name": call.name, "input": arguments_value(call.arguments)}}
        for call in calls
    ]
    content = [*(block for block in blocks.values() if block), *uses]
    kept = ("stopReason", "usage", "metrics", "additionalModelResponseFields", "trace")
    rest = {key: body[key] for body in bodies for key in kept if key in body}
    return {"output": {"message": {"role": "assistant", "content": content}}, **rest}


def _add(block: Payload, delta: Payload) -> None:
    """A part of a block of text or of reasoning."""
    text, thought = delta.get("text"), dictionary(delta.get("reasoningContent"))
    if isinstance(text, str):
        block["text"] = block.get("text", "") + text
    if not thought:
        return
    reasoning = block.setdefault("reasoningContent", {})
    for key, value in thought.items():
        if key in _REASONING and isinstance(value, str):
            parts = reasoning.setdefault("reasoningText", {})
            parts[key] = parts.get(key, "") + value
        else:
            reasoning[key] = value


def _unkeyed(payload: Payload) -> Payload:
    return next((payload[kind] for kind in payload.keys() & KINDS if isinstance(payload[kind], dict)), payload)


def _block(block: Payload, cut: Cut) -> Iterator[tuple[str, Payload]]:
    """The start of a content block, if it needs one, and the content of its deltas."""
    tool, thought = block.get("toolUse"), json_access.get(block, "reasoningContent", "reasoningText")
    if isinstance(tool, dict):
        yield BLOCK_START, {"start": {"toolUse": {key: value for key, value in tool.items() if key != "input"}}}
        for text in cut(numbers.spaced(tool.get("input", {}))):
            yield BLOCK_DELTA, {"delta": {"toolUse": {"input": text}}}
    elif isinstance(thought, dict):
        for key in _REASONING:
            if key in thought:
                yield BLOCK_DELTA, {"delta": {"reasoningContent": {key: thought[key]}}}
    elif isinstance(block.get("text"), str):
        for text in cut(block["text"]):
            yield BLOCK_DELTA, {"delta": {**block, "text": text}}
    else:
        yield BLOCK_DELTA, {"delta": block}


def _message(kind: str, body: Json) -> bytes:
    return fresh(encoded(body), kind).encode()


def healthy_stream(response: HealthyResponse) -> Iterator[bytes]:
    """The messages."""
    return streamed(healthy_unstreamed(response), response.request, deltas_after_empty)


def healthy_unstreamed(response: HealthyResponse) -> dict[str, Any]:
    """https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html."""
    read, written = response.tokens
    uses = [
        {
            "toolUse": {
                "toolUseId": f"tooluse_{response.call_letters(place, 22)}",
                "name": call.name,
                "input": arguments_value(call.arguments),
            }
        }
        for place, call in enumerate(response.calls)
    ]
    return {
        "output": {"message": {"role": "assistant", "content": uses or [{"text": response.text}]}},
        "stopReason": "tool_use" if uses else "end_turn",
        "usage": {"inputTokens": read, "outputTokens": written, "totalTokens": read + written},
        "metrics": {"latencyMs": 951},
    }


_WORDS: Final = {
    ErrorKind.INVALID: "ValidationException",
    ErrorKind.UNAUTHENTICATED: "UnrecognizedClientException",
    ErrorKind.FORBIDDEN: "AccessDeniedException",
    ErrorKind.NOT_FOUND: "ResourceNotFoundException",
    ErrorKind.RATE_LIMIT: "ThrottlingException",
    ErrorKind.SERVER: "InternalServerException",
    ErrorKind.OVERLOADED: "ServiceUnavailableException",
}
"""AWS sends them in the header `x-amzn-errortype`; its clients read them from the body if the header is missing."""


def error_body(kind: ErrorKind, status: int, message: str) -> Json:
    """As `WireProtocol.error_body`."""
    return {"__type": _WORDS[kind], "message": message}


def error_event(kind: ErrorKind, number: int) -> bytes:
    """As `WireProtocol.error_event`."""
    return exception_message(kind)
