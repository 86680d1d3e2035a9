"""Interactions that toolstream writes: complete responses, streams, errors.

https://ai.google.dev/gemini-api/docs/streaming; errors: https://ai.google.dev/gemini-api/docs/api-errors
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from toolstream_core.model import Absent, Call, Json, Kind
from toolstream_core.protocols.errors import ErrorKind
from toolstream_core.protocols.gemini_interactions.reader import (
    ARGUMENTS_DELTA,
    CALL,
    COMPLETED,
    CREATED,
    DELTA,
    DONE,
    START,
    STATUS,
    STOP,
)
from toolstream_core.protocols.response_content import place_of
from toolstream_core.protocols.writing import (
    CREATED_TEXT,
    Cut,
    HealthyResponse,
    Payloads,
    arguments_value,
    deltas,
    dictionary,
    named_event,
    uncut,
)
from toolstream_core.wire import json_access, numbers
from toolstream_core.wire.json_value import Payload

_TIME: Final = f"{CREATED_TEXT[:19]}Z"
_HEAD: Final = ("id", "object", "model", "agent")
"""The fields of an interaction in its first event, with the status."""


def _event(kind: str, **fields: Json) -> bytes:
    return named_event({**fields, "event_type": kind}, "event_type")


def streamed(response: Payload, request: Json, cut: Cut = uncut) -> Iterator[bytes]:
    """https://ai.google.dev/gemini-api/docs/streaming."""
    if "status" not in response or not isinstance(response.get("steps"), list):
        return
    head = {key: response[key] for key in _HEAD if key in response}
    yield _event(CREATED, interaction={**head, "status": "in_progress"})
    yield _event(STATUS, interaction_id=response.get("id", ""), status="in_progress")
    steps = [step for step in response["steps"] if isinstance(step, dict) and step.get("type") != "user_input"]
    for index, step in enumerate(steps):
        start, parts = _step(step, cut)
        yield _event(START, index=index, step=start)
        yield from (_event(DELTA, index=index, delta=part) for part in parts)
        yield _event(STOP, index=index)
    yield _event(COMPLETED, interaction={key: value for key, value in response.items() if key != "steps"})
    yield b"event: done\ndata: " + DONE + b"\n\n"


def _step(step: Payload, cut: Cut) -> tuple[Payload, list[Payload]]:
    """The start of a step, and its deltas; a step of another kind is complete in its start."""
    match step.get("type"):
        case "function_call":
            texts = cut(numbers.spaced(step.get("arguments", {})))
            return {**step, "arguments": {}}, [{"arguments": text, "type": ARGUMENTS_DELTA} for text in texts]
        case "model_output":
            content = json_access.items(step.get("content"))
            return {"type": "model_output"}, [delta for part in content for delta in _content(dictionary(part), cut)]
        case "thought":
            summary = [{"content": part, "type": "thought_summary"} for part in json_access.items(step.get("summary"))]
            signed = [{"signature": step["signature"], "type": "thought_signature"}] if "signature" in step else []
            return {"type": "thought"}, [*summary, *signed]
    return step, []


def _content(part: Payload, cut: Cut) -> list[Payload]:
    if part.get("type") != "text" or not isinstance(part.get("text"), str):
        return [part]
    rest = {key: value for key, value in part.items() if key == "annotations" and value}
    noted = [{**rest, "type": "text_annotation_delta"}] if rest else []
    return [*({"text": text, "type": "text"} for text in cut(part["text"])), *noted]


def assembled(payloads: Payloads, calls: Sequence[Call]) -> Json:
    """As `WireProtocol.assembled`."""
    interaction: Payload = {"id": "saved", "status": "completed", "object": "interaction"}
    texts: dict[int | Absent, str] = {}
    thoughts: list[Json] = []
    for payload in payloads:
        interaction |= dictionary(payload.get("interaction"))
        delta = dictionary(payload.get("delta"))
        parts = [delta, *json_access.items(json_access.get(payload, "step", "content"))]
        text = "".join(str(part["text"]) for part in parts if isinstance(json_access.get(part, "text"), str))
        if text:
            index = place_of(payload.get("index"))
            texts[index] = texts.get(index, "") + text
        if delta.get("type") == "thought_signature":
            thoughts.append({"type": "thought", "signature": delta.get("signature")})
    outputs = [{"type": "model_output", "content": [{"type": "text", "text": text}]} for text in texts.values()]
    return {**interaction, "steps": [*thoughts, *outputs, *map(_call, calls)]}


def _call(call: Call) -> Payload:
    kind = CALL if call.kind is not Kind.SERVER else f"{call.name}_call"
    name = {"name": call.name} if kind == CALL else {}
    return {"type": kind, "id": call.id, **name, "arguments": arguments_value(call.arguments)}


def healthy_stream(response: HealthyResponse) -> Iterator[bytes]:
    """The events."""
    return streamed(healthy_unstreamed(response), response.request, deltas)


def healthy_unstreamed(response: HealthyResponse) -> dict[str, Any]:
    """https://ai.google.dev/api/interactions-api."""
    read, written = response.tokens
    calls = [
        {
            "id": response.call_letters(place, 8).lower(),
            "type": CALL,
            "name": call.name,
            "arguments": arguments_value(call.arguments),
        }
        for place, call in enumerate(response.calls)
    ]
    return {
        "id": f"v1_{response.letters('answer', 44)}",
        "status": "requires_action" if calls else "completed",
        "usage": {
            "total_tokens": read + written,
            "total_input_tokens": read,
            "input_tokens_by_modality": [{"modality": "text", "tokens": read}],
            "total_cached_tokens": 0,
            "total_output_tokens": written,
            "total_tool_use_tokens": 0,
            "total_thought_tokens": 0,
        },
        "created": _TIME,
        "updated": _TIME,
        "service_tier": "standard",
        "steps": calls or [{"type": "model_output", "content": [{"type": "text", "text": response.text}]}],
        "object": "interaction",
        "model": response.model,
    }


_CODES: Final = {
    ErrorKind.INVALID: "invalid_request",
    ErrorKind.UNAUTHENTICATED: "authentication",
    ErrorKind.FORBIDDEN: "permission_denied",
    ErrorKind.NOT_FOUND: "not_found",
    ErrorKind.RATE_LIMIT: "rate_limit_exceeded",
    ErrorKind.SERVER: "api_error",
    ErrorKind.OVERLOADED: "service_unavailable",
}


def error_body(kind: ErrorKind, status: int, message: str) -> Payload:
    """As `WireProtocol.error_body`."""
    return {"error": {"message": message, "code": _CODES[kind]}}


def error_event(kind: ErrorKind, number: int) -> bytes:
    """As `WireProtocol.error_event`."""
    return _event("error", **error_body(kind, kind.status, kind.message))
