"""The same load in the words of each protocol that has an SDK with an accumulator. Knows no proxy."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, NamedTuple

from benchlib.streams import CALL_ID, TOOL, padding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchlib.streams import Load

type Object = dict[str, object]

_ITEM_ID = "fc_0a1363204f5a6fae016a1f595d612c81978ef18dfb79594b77"
_MESSAGE_ID = "msg_0a1363204f5a6fae016a1f595d612c81978ef18dfb7959aa01"
_ITEM: Object = {"id": _ITEM_ID, "type": "function_call", "call_id": CALL_ID, "name": TOOL}
_MESSAGE: Object = {"id": _MESSAGE_ID, "type": "message", "role": "assistant"}
_RESPONSE: Object = {
    "id": "resp_0a1363204f5a6fae016a1f595c61608197850567752d709e1b",
    "object": "response",
    "created_at": 1780439388,
    "model": "gpt-4.1-mini-2025-04-14",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
_ANTHROPIC_USAGE: Object = {"input_tokens": 450, "output_tokens": 24}
_ANTHROPIC_MESSAGE: Object = {
    "id": "msg_01TZAz4krKFibFDdstrarQQV",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5-20250929",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": _ANTHROPIC_USAGE,
}


class Protocol(NamedTuple):
    """A dialect, where it is asked for, and a load in its words. Framing events come on top of the load's."""

    name: str
    path: str
    blocks: Callable[[Load], Iterator[bytes]]


def _chat(load: Load) -> Iterator[bytes]:
    return load.blocks()


def _responses(load: Load) -> Iterator[bytes]:
    numbers = itertools.count()
    for event in _response_events(load):
        yield _named({**event, "sequence_number": next(numbers)})


def _response_events(load: Load) -> Iterator[Object]:
    yield {"type": "response.created", "response": {**_RESPONSE, "status": "in_progress", "output": []}}
    output: list[Object] = []
    if load.texts:
        message: Object = {**_MESSAGE, "status": "completed", "content": [_part("".join(load.texts))]}
        yield from _response_text(load, message)
        output.append(message)
    at = len(output)
    where: Object = {"item_id": _ITEM_ID, "output_index": at}
    opened = {**_ITEM, "status": "in_progress", "arguments": ""}
    yield {"type": "response.output_item.added", "output_index": at, "item": opened}
    for delta in load.pieces:
        yield {"type": "response.function_call_arguments.delta", "delta": delta, **_padded(where, delta)}
    arguments = load.call.arguments
    yield {"type": "response.function_call_arguments.done", **where, "arguments": arguments, "name": TOOL}
    output.append({**_ITEM, "status": "completed", "arguments": arguments})
    yield {"type": "response.output_item.done", "output_index": at, "item": output[-1]}
    yield {"type": "response.completed", "response": {**_RESPONSE, "status": "completed", "output": output}}


def _response_text(load: Load, message: Object) -> Iterator[Object]:
    where: Object = {"item_id": _MESSAGE_ID, "output_index": 0, "content_index": 0}
    opened = {**_MESSAGE, "status": "in_progress", "content": []}
    yield {"type": "response.output_item.added", "output_index": 0, "item": opened}
    yield {"type": "response.content_part.added", **where, "part": _part("")}
    for delta in load.texts:
        yield {"type": "response.output_text.delta", "delta": delta, "logprobs": [], **_padded(where, delta)}
    whole = "".join(load.texts)
    yield {"type": "response.output_text.done", **where, "text": whole, "logprobs": []}
    yield {"type": "response.content_part.done", **where, "part": _part(whole)}
    yield {"type": "response.output_item.done", "output_index": 0, "item": message}


def _padded(where: Object, delta: str) -> Object:
    return {"item_id": where["item_id"], "obfuscation": padding(delta), **where}


def _part(text: str) -> Object:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _anthropic(load: Load) -> Iterator[bytes]:
    yield _named({"type": "message_start", "message": _ANTHROPIC_MESSAGE})
    at = 0
    if load.texts:
        yield from _block(at, {"type": "text", "text": ""}, "text_delta", "text", load.texts)
        at = 1
    tool: Object = {"type": "tool_use", "id": CALL_ID, "name": TOOL, "input": {}}
    yield from _block(at, tool, "input_json_delta", "partial_json", load.pieces)
    stop: Object = {"stop_reason": "tool_use", "stop_sequence": None}
    yield _named({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 50}})
    yield _named({"type": "message_stop"})


def _block(at: int, block: Object, kind: str, key: str, deltas: tuple[str, ...]) -> Iterator[bytes]:
    yield _named({"type": "content_block_start", "index": at, "content_block": block})
    for number, delta in enumerate(deltas):
        event = _named({"type": "content_block_delta", "index": at, "delta": {"type": kind, key: delta}})
        # Anthropic's own padding: white space before the last brace.
        yield event.replace(b"}}\n", b"}" + b" " * (number * 7 % 15) + b"}\n")
    yield _named({"type": "content_block_stop", "index": at})


def _named(event: Object) -> bytes:
    data = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
    return f"event: {event['type']}\ndata: {data}\n\n".encode()


PROTOCOLS = (
    Protocol("openai-chat", "/v1/chat/completions", _chat),
    Protocol("openai-responses", "/v1/responses", _responses),
    Protocol("anthropic", "/v1/messages", _anthropic),
)
