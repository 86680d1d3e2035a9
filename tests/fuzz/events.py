"""Builds small events of each protocol, for malformed streams."""

from __future__ import annotations

import json
from typing import Any

from tests.fuzz.messages import of_lines

type Json = dict[str, Any]


def sse(*events: Json | bytes) -> bytes:
    """Return a body of server-sent events; bytes are written unchanged."""
    return b"".join(one if isinstance(one, bytes) else _block(one) for one in events)


def _block(event: Json) -> bytes:
    name = b"event: %s\n" % event["type"].encode() if isinstance(event.get("type"), str) else b""
    return name + b"data: %s\n\n" % json.dumps(event).encode()


def chat(delta: Json, finish: str | None = None, key: str = "choices") -> Json:
    """Return a chunk of Chat Completions with its choices under `key`."""
    return {"object": "chat.completion.chunk", key: [{"index": 0, "delta": delta, "finish_reason": finish}]}


def entry(index: int | str | None, arguments: str, **header: str) -> Json:
    """Return a delta with one tool call."""
    function = {"arguments": arguments} | ({"name": header.pop("name")} if "name" in header else {})
    return {"tool_calls": [({} if index is None else {"index": index}) | header | {"function": function}]}


def tool_start(index: int, **more: Any) -> Json:
    """Return the start of an Anthropic `tool_use` block."""
    block = {"type": "tool_use", "id": f"toolu_{index}", "name": "f", "input": {}} | more
    return {"type": "content_block_start", "index": index, "content_block": block}


def input_delta(index: int, text: object, kind: object = "content_block_delta") -> Json:
    """Return a delta of arguments."""
    return {"type": kind, "index": index, "delta": {"type": "input_json_delta", "partial_json": text}}


def message_delta(reason: str) -> Json:
    """Return a `message_delta` with a stop reason."""
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}}


def text_block(index: int) -> Json:
    """Return the start of a text block."""
    return {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}


def text(index: object, content: str) -> Json:
    """Return a text delta."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": content}}


def item_done(index: int, item: str, arguments: str) -> Json:
    """Return the event that completes a Responses item; all have the same `call_id`."""
    call = {"type": "function_call", "id": item, "call_id": "c1", "name": "f", "arguments": arguments}
    return {"type": "response.output_item.done", "output_index": index, "item": call}


def item_added(index: int, item: str) -> Json:
    """Return the event that adds a Responses item."""
    return item_done(index, item, "") | {"type": "response.output_item.added"}


def argument_delta(index: int, item: str, text: str) -> Json:
    """Return a delta of arguments."""
    return {
        "type": "response.function_call_arguments.delta",
        "item_id": item,
        "output_index": index,
        "delta": text,
    }


def completed(*items: Json) -> Json:
    """Return the terminal event of a response with these items."""
    response = {"status": "completed", "output": [one["item"] for one in items]}
    return {"type": "response.completed", "response": response}


def cohere(index: float | None, entries: object, kind: str | None = "tool-call-start") -> Json:
    """Return a Cohere event of a call."""
    event = ({} if kind is None else {"type": kind}) | {"delta": {"message": {"tool_calls": entries}}}
    return event if index is None else {**event, "index": index}


def call_delta(index: float | None, arguments: str) -> Json:
    """Return a Cohere delta of a call."""
    return cohere(index, {"function": {"arguments": arguments}}, "tool-call-delta")


def call_header(name: str, arguments: str = "") -> Json:
    """Return the entry that starts a Cohere call."""
    return {"id": f"{name}_1", "type": "function", "function": {"name": name, "arguments": arguments}}


def converse(*events: tuple[str, Json]) -> bytes:
    """Return messages of ConverseStream."""
    return of_lines([f"{name} {json.dumps(body)}\n".encode() for name, body in events])


def start(index: int, tool: Json) -> tuple[str, Json]:
    """Return the start of a Converse block with a call."""
    return "contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": tool}}


def delta(index: object, tool: Json) -> tuple[str, Json]:
    """Return a delta of a Converse block."""
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": {"toolUse": tool}}


def stop(index: int) -> tuple[str, Json]:
    """Return the stop of a Converse block."""
    return "contentBlockStop", {"contentBlockIndex": index}


def indexless(event: tuple[str, Json]) -> tuple[str, Json]:
    """Return the event without its index."""
    kind, body = event
    return kind, {key: value for key, value in body.items() if key != "contentBlockIndex"}


F = {"toolUseId": "t", "name": "f"}

UNREAD = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta"\n\n'
