"""Gemini responses that toolstream writes: complete responses, streams, errors.

https://ai.google.dev/api/generate-content; errors: https://ai.google.dev/gemini-api/docs/troubleshooting
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from toolstream_core.model import ABSENT, Call, Json
from toolstream_core.protocols.errors import ErrorKind
from toolstream_core.protocols.gemini.reader import unwrapped
from toolstream_core.protocols.requests import tools
from toolstream_core.protocols.writing import (
    HealthyResponse,
    Payloads,
    arguments_value,
    data_event,
    dictionary,
    merged,
)
from toolstream_core.wire import json_access
from toolstream_core.wire.json_value import Payload
from toolstream_core.wire.write import encoded

_ERRORS: Final = {
    ErrorKind.INVALID: "INVALID_ARGUMENT",
    ErrorKind.UNAUTHENTICATED: "UNAUTHENTICATED",
    ErrorKind.FORBIDDEN: "PERMISSION_DENIED",
    ErrorKind.NOT_FOUND: "NOT_FOUND",
    ErrorKind.RATE_LIMIT: "RESOURCE_EXHAUSTED",
    ErrorKind.SERVER: "INTERNAL",
    ErrorKind.OVERLOADED: "UNAVAILABLE",
}


def streamed(response: Payload, request: Json) -> Iterator[bytes]:
    """The only event of a complete response, which has the form of an event."""
    if json_access.get(unwrapped(response)[1], "candidates"):
        yield b"data: " + encoded(response) + b"\r\n\r\n"


def assembled(payloads: Payloads, calls: Sequence[Call]) -> Json:
    """The complete response of a stream."""
    candidate: dict[str, Json] = {"index": 0}
    parts: list[Json] = []
    events = [dictionary(unwrapped(payload)[1]) for payload in payloads]
    for payload in events:
        one = json_access.get(payload, "candidates", 0)
        candidate.update(dictionary(one))
        parts.extend(part for part in json_access.items_at(one, "content", "parts") if part != {"text": ""})
    if any(json_access.get(part, "functionCall", "partialArgs") is not ABSENT for part in parts):
        parts = [part for part in parts if json_access.get(part, "functionCall") is ABSENT]
        parts += [{"functionCall": {"name": call.name, "args": arguments_value(call.arguments)}} for call in calls]
    candidate["content"] = {"role": "model", "parts": _joined(parts)}
    response = {**merged(events, leaving=("candidates",)), "candidates": [candidate]}
    return {"response": response} if any("response" in one for one in payloads) else response


def _joined(parts: Sequence[Json]) -> list[Json]:
    """The parts, with each run of plain texts as one."""
    joined: list[Json] = []
    for part in parts:
        if joined and dictionary(joined[-1]).keys() == {"text"} == dictionary(part).keys():
            joined[-1] = {"text": f"{joined[-1]['text']}{part['text']}"}
        else:
            joined.append(part)
    return joined


def healthy_stream(response: HealthyResponse) -> Iterator[bytes]:
    """The events: all calls in one, a text in two."""
    parts = _parts(response)
    if not response.calls:
        middle = len(response.text) // 2
        parts = [{"text": response.text[middle:]}]
        yield from streamed(_response(response, [{"text": response.text[:middle]}], finish=False), response.request)
    yield from streamed(_response(response, parts, finish=True), response.request)


def healthy_unstreamed(response: HealthyResponse) -> Payload:
    """The same as one JSON object."""
    return _response(response, _parts(response), finish=True)


def _parts(response: HealthyResponse) -> list[Payload]:
    calls = [{"functionCall": {"name": one.name, "args": arguments_value(one.arguments)}} for one in response.calls]
    return calls or [{"text": response.text}]


def _response(response: HealthyResponse, parts: list[Payload], *, finish: bool) -> dict[str, Any]:
    read, written = response.tokens
    reason = {"finishReason": "STOP"} if finish else {}
    body = {
        "candidates": [{"content": {"parts": parts, "role": "model"}, **reason, "index": 0}],
        "usageMetadata": {
            "promptTokenCount": read,
            "candidatesTokenCount": written,
            "totalTokenCount": read + written,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": read}],
        },
        "modelVersion": response.model,
        "responseId": response.letters("answer", 22),
    }
    return body if tools.unwrapped(response.request) is response.request else {"response": body}


def error_body(kind: ErrorKind, status: int, message: str) -> Json:
    """The body of an HTTP error."""
    return {"error": {"code": status, "message": message, "status": _ERRORS[kind]}}


def error_event(kind: ErrorKind, number: int) -> bytes:
    """An error inside a stream."""
    return data_event(error_body(kind, kind.status, kind.message))
