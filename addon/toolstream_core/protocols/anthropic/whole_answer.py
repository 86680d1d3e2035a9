"""Anthropic: a whole answer made a stream, and a stream made the whole answer that it amounts to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.model import Kind
from toolstream_core.protocols.answers import arguments_object, dictionary, named_event, uncut
from toolstream_core.wire import json_access, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.model import Call, Json
    from toolstream_core.protocols.answers import Cut, Payload, Payloads


def streamed(answer: Payload, request: Json, cut: Cut = uncut) -> Iterator[bytes]:
    """https://docs.claude.com/en/docs/build-with-claude/streaming."""
    del request
    if answer.get("type") != "message":
        return
    begun = {**answer, "content": [], "stop_reason": None, "stop_sequence": None}
    yield named_event({"type": "message_start", "message": begun})
    for index, block in enumerate(json_access.items(answer.get("content"))):
        if not isinstance(block, dict):
            continue
        start, deltas = _block(block, cut)
        yield named_event({"type": "content_block_start", "index": index, "content_block": start})
        for delta in deltas:
            yield named_event({"type": "content_block_delta", "index": index, "delta": delta})
        yield named_event({"type": "content_block_stop", "index": index})
    delta = {key: answer.get(key) for key in ("stop_reason", "stop_sequence")}
    yield named_event({"type": "message_delta", "delta": delta, "usage": answer.get("usage") or {"output_tokens": 0}})
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
        piece = json_access.get(payload, "delta", "text")
        text += piece if isinstance(piece, str) else ""
    uses = [
        {
            "type": "server_tool_use" if call.kind is Kind.SERVER else "tool_use",
            "id": call.id,
            "name": call.name,
            "input": arguments_object(call),
        }
        for call in calls
    ]
    return {**message, "content": [*([{"type": "text", "text": text}] if text else []), *uses], "usage": used}


def _block(block: Payload, cut: Cut) -> tuple[Payload, list[Payload]]:
    """What opens a content block, and what its deltas say."""
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
