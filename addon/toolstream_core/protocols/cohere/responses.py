"""Cohere responses that toolstream writes: complete responses, streams, errors.

https://docs.cohere.com/reference/chat-stream; errors: https://docs.cohere.com/reference/errors
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from toolstream_core.model import Call, Json
from toolstream_core.protocols.cohere.reader import (
    CALL_START,
    DONE,
    ENTRY,
    MESSAGE_END,
    MESSAGE_START,
    call_delta,
    call_end,
)
from toolstream_core.protocols.errors import ErrorKind
from toolstream_core.protocols.writing import (
    Cut,
    HealthyResponse,
    Payloads,
    deltas,
    dictionary,
    named_event,
    uncut,
)
from toolstream_core.wire import json_access
from toolstream_core.wire.json_paths import put
from toolstream_core.wire.json_value import Payload


def streamed(response: Payload, request: Json, cut: Cut = uncut) -> Iterator[bytes]:
    """https://docs.cohere.com/v2/docs/streaming."""
    message = response.get("message")
    if not isinstance(message, dict):
        return
    yield from map(named_event, _events(response, message, cut))
    yield b"data: " + DONE + b"\n\n"


def _events(response: Payload, message: Payload, cut: Cut) -> Iterator[Payload]:
    head = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    identity = {"id": response["id"]} if "id" in response else {}
    yield {**identity, "type": MESSAGE_START, "delta": {"message": head}}
    if plan := message.get("tool_plan"):
        for text in cut(plan):
            yield {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": text}}}
    for index, block in enumerate(_blocks(message.get("content"))):
        yield from _block(index, block, cut)
    for index, entry in enumerate(json_access.items(message.get("tool_calls"))):
        yield from _call(index, dictionary(entry), cut)
    for index, citation in enumerate(json_access.items(message.get("citations"))):
        place = {"index": index}
        yield {"type": "citation-start", **place, "delta": {"message": {"citations": citation}}}
        yield {"type": "citation-end", **place}
    delta = {"finish_reason": response.get("finish_reason"), "usage": response.get("usage")}
    yield {"type": MESSAGE_END, "delta": delta}


def _blocks(content: Json) -> list[Payload]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [block for block in json_access.items(content) if isinstance(block, dict)]


def _block(index: int, block: Payload, cut: Cut) -> Iterator[Payload]:
    key = "thinking" if block.get("type") == "thinking" else "text"
    place = {"index": index}
    begun = {**block, key: ""}
    yield {"type": "content-start", **place, "delta": {"message": {"content": begun}}}
    for text in cut(block.get(key, "")):
        yield {"type": "content-delta", **place, "delta": {"message": {"content": {key: text}}}}
    yield {"type": "content-end", **place}


def _call(index: int, entry: Payload, cut: Cut) -> Iterator[Payload]:
    function = dictionary(entry.get("function"))
    arguments = function.get("arguments")
    begun = {**entry, "function": {**function, "arguments": ""}}
    yield put({"type": CALL_START, "index": index}, ENTRY, begun)
    if arguments and isinstance(arguments, str):
        yield from (call_delta(index, text) for text in cut(arguments))
    yield call_end(index)


def assembled(payloads: Payloads, calls: Sequence[Call]) -> Json:
    """As `WireProtocol.assembled`."""
    identity: Json = "saved"
    ending: Payload = {}
    plan = ""
    blocks: list[Payload] = []
    citations: list[Json] = []
    for payload in payloads:
        message = dictionary(dictionary(payload.get("delta")).get("message"))
        match payload.get("type"):
            case "message-start":
                identity = payload.get("id", identity)
            case "tool-plan-delta":
                plan += str(message.get("tool_plan") or "")
            case "content-start":
                blocks.append({"type": "text", **dictionary(message.get("content"))})
            case "content-delta":
                _add(blocks, dictionary(message.get("content")))
            case "citation-start":
                citations.append(message.get("citations"))
            case "message-end":
                ending = dictionary(payload.get("delta"))
    spoken: Payload = {"role": "assistant"}
    spoken |= {"tool_plan": plan} if plan else {}
    spoken |= {"content": blocks} if blocks else {}
    spoken |= {"tool_calls": [_document(call) for call in calls]} if calls else {}
    spoken |= {"citations": citations} if citations else {}
    return {
        "id": identity,
        "finish_reason": ending.get("finish_reason") or ("TOOL_CALL" if calls else "COMPLETE"),
        "message": spoken,
        "usage": ending.get("usage"),
    }


def _add(blocks: list[Payload], delta: Payload) -> None:
    """A part of the content block that started last."""
    for key in ("text", "thinking"):
        if isinstance(delta.get(key), str):
            if not blocks:
                blocks.append({"type": key})
            blocks[-1][key] = f"{blocks[-1].get(key) or ''}{delta[key]}"


def _document(call: Call) -> Payload:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def healthy_stream(response: HealthyResponse) -> Iterator[bytes]:
    """The events."""
    return streamed(healthy_unstreamed(response), response.request, deltas)


def healthy_unstreamed(response: HealthyResponse) -> dict[str, Any]:
    """https://docs.cohere.com/reference/chat."""
    read, written = response.tokens
    calls = [
        {
            "id": f"{call.name}_{response.call_letters(place, 12)}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for place, call in enumerate(response.calls)
    ]
    plan = f"I will use {' and '.join(dict.fromkeys(call.name for call in response.calls))}."
    content = (
        {"tool_plan": plan, "tool_calls": calls} if calls else {"content": [{"type": "text", "text": response.text}]}
    )
    return {
        "id": _uuid(response.hexadecimal("answer", 32)),
        "finish_reason": "TOOL_CALL" if calls else "COMPLETE",
        "message": {"role": "assistant", **content},
        "usage": {
            "billed_units": {"input_tokens": read, "output_tokens": written},
            "tokens": {"input_tokens": read, "output_tokens": written},
        },
    }


def _uuid(digits: str) -> str:
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])


def error_body(kind: ErrorKind, status: int, message: str) -> Json:
    """As `WireProtocol.error_body`."""
    return {"message": message}


def error_event(kind: ErrorKind, number: int) -> bytes:
    """As `WireProtocol.error_event`. The end of the message has the error; there are no error events."""
    return named_event({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": kind.message}})
