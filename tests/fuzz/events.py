"""Events of each protocol, written small, for streams that are not valid."""

from __future__ import annotations

import json
from typing import Any

from tests.fuzz.messages import of_lines

type Json = dict[str, Any]


def sse(*events: Json | bytes) -> bytes:
    """A body of Server-Sent Events; bytes are blocks as they are."""
    return b"".join(one if isinstance(one, bytes) else _block(one) for one in events)


def _block(event: Json) -> bytes:
    name = b"event: %s\n" % event["type"].encode() if isinstance(event.get("type"), str) else b""
    return name + b"data: %s\n\n" % json.dumps(event).encode()


def chat(delta: Json, finish: str | None = None, key: str = "choices") -> Json:
    """A chunk of Chat Completions, its choices under `key`."""
    return {"object": "chat.completion.chunk", key: [{"index": 0, "delta": delta, "finish_reason": finish}]}


def entry(index: int | str | None, arguments: str, **header: str) -> Json:
    """A delta with one tool call."""
    function = {"arguments": arguments} | ({"name": header.pop("name")} if "name" in header else {})
    return {"tool_calls": [({} if index is None else {"index": index}) | header | {"function": function}]}


def one(key: str | None, index: object, arguments: str) -> Json:
    """An entry; with an `id` it opens a call."""
    header: Json = {} if key is None else {"id": key, "type": "function"}
    named: Json = {} if key is None else {"name": f"f_{key}"}
    return {"index": index} | header | {"function": named | {"arguments": arguments}}


def tool_use(index: int, **more: Any) -> Json:
    """The start of an Anthropic block with a call."""
    block = {"type": "tool_use", "id": f"toolu_{index}", "name": "f", "input": {}} | more
    return {"type": "content_block_start", "index": index, "content_block": block}


def partial(index: int, text: object, kind: object = "content_block_delta") -> Json:
    """A delta of its arguments."""
    return {"type": kind, "index": index, "delta": {"type": "input_json_delta", "partial_json": text}}


def stopped(index: int) -> Json:
    """The end of a block."""
    return {"type": "content_block_stop", "index": index}


def message_delta(reason: str) -> Json:
    """What says how a message stopped."""
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}}


def text_block(index: int) -> Json:
    """The start of a block of text."""
    return {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}


def text(index: object, said: str) -> Json:
    """A delta of text."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": said}}


def item_done(index: int, item: str, arguments: str) -> Json:
    """The event that closes a Responses item, under one `call_id` for all."""
    call = {"type": "function_call", "id": item, "call_id": "c1", "name": "f", "arguments": arguments}
    return {"type": "response.output_item.done", "output_index": index, "item": call}


def item_added(index: int, item: str) -> Json:
    """The event that adds a Responses item."""
    return item_done(index, item, "") | {"type": "response.output_item.added"}


def argument_delta(index: int, item: str, text: str) -> Json:
    """A delta of its arguments."""
    return {
        "type": "response.function_call_arguments.delta",
        "item_id": item,
        "output_index": index,
        "delta": text,
    }


def completed(*items: Json) -> Json:
    """The event that ends a response, with these items."""
    response = {"status": "completed", "output": [one["item"] for one in items]}
    return {"type": "response.completed", "response": response}


def cohere(index: float | None, entries: object, kind: str | None = "tool-call-start") -> Json:
    """A Cohere event of a call."""
    said = ({} if kind is None else {"type": kind}) | {"delta": {"message": {"tool_calls": entries}}}
    return said if index is None else {**said, "index": index}


def filled(index: float | None, arguments: str) -> Json:
    """A Cohere delta of a call."""
    return cohere(index, {"function": {"arguments": arguments}}, "tool-call-delta")


def named(name: str, arguments: str = "") -> Json:
    """The entry that starts a Cohere call."""
    return {"id": f"{name}_1", "type": "function", "function": {"name": name, "arguments": arguments}}


def converse(*events: tuple[str, Json]) -> bytes:
    """Messages of ConverseStream."""
    return of_lines([f"{name} {json.dumps(body)}\n".encode() for name, body in events])


def start(index: int, tool: Json) -> tuple[str, Json]:
    """A Converse block with a call."""
    return "contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": tool}}


def delta(index: object, tool: Json) -> tuple[str, Json]:
    """A delta of it."""
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": {"toolUse": tool}}


def stop(index: int) -> tuple[str, Json]:
    """Its end."""
    return "contentBlockStop", {"contentBlockIndex": index}


def indexless(event: tuple[str, Json]) -> tuple[str, Json]:
    """The event without its index."""
    kind, body = event
    return kind, {key: one for key, one in body.items() if key != "contentBlockIndex"}


MESSAGE_START = {"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 1}}}

TOOL_USE = ("messageStop", {"stopReason": "tool_use"})

F = {"toolUseId": "t", "name": "f"}

UNREAD = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta"\n\n'
