"""Streams for client models, written as events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolstream_core.clients.model import ResolvedEvent
from toolstream_core.protocols.registry import named
from toolstream_core.protocols.requests.conversation import ReturnedCall
from toolstream_core.wire.frame import Frame

if TYPE_CHECKING:
    from collections.abc import Sequence

type Entry = dict[str, Any]
CHAT, RESPONSES, ANTHROPIC, GEMINI, OLLAMA = (
    named(name) for name in ("openai-chat", "openai-responses", "anthropic", "gemini", "ollama")
)


def entry(index: int | None = 0, **fields: Any) -> Entry:
    """An entry of `delta.tool_calls` with exactly these fields."""
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return {**({} if index is None else {"index": index}), **fields, "function": function}


def chat(*events: Sequence[Entry] | str) -> list[ResolvedEvent]:
    """Events of Chat Completions: entries, or a finish reason; then `[DONE]`."""
    payloads: list[Any] = []
    for event in events:
        delta = {} if isinstance(event, str) else {"tool_calls": list(event)}
        finish = event if isinstance(event, str) else None
        payloads.append({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    return received("openai-chat", [*payloads, "[DONE]"])


def message(*calls: Entry) -> ResolvedEvent:
    """An event of Chat Completions with calls in `message`."""
    return received("openai-chat", [{"choices": [{"index": 0, "message": {"tool_calls": list(calls)}}]}])[0]


def received(protocol: str, payloads: Sequence[Any]) -> list[ResolvedEvent]:
    """Events with these payloads. A string is data that is not JSON."""
    read = named(protocol).read
    data = (one.encode() if isinstance(one, str) else json.dumps(one).encode() for one in payloads)
    return [ResolvedEvent(at, read(Frame(one, at, data=one))) for at, one in enumerate(data)]


def item(at: int, kind: str, call: str, name: str, arguments: str = "", item_id: str = "") -> Entry:
    """An event of the Responses API that adds (`added`) or closes (`done`) the item of a call."""
    inner = {"type": "function_call", "id": item_id or f"fc{at}", "call_id": call, "name": name, "arguments": arguments}
    return {"type": f"response.output_item.{kind}", "output_index": at, "item": inner}


def delta(at: int, text: str, item_id: str = "", **more: Any) -> Entry:
    """An event of the Responses API with a fragment of arguments."""
    kind = "response.function_call_arguments.delta"
    return {"type": kind, "output_index": at, "item_id": item_id or f"fc{at}", "delta": text, **more}


def arguments_done(at: int, text: str) -> Entry:
    """An event of the Responses API with the complete arguments."""
    kind = "response.function_call_arguments.done"
    return {"type": kind, "output_index": at, "item_id": f"fc{at}", "arguments": text}


def completed(*items: Entry) -> Entry:
    """The event `response.completed` with these items."""
    output = [one["item"] for one in items]
    return {"type": "response.completed", "response": {"status": "completed", "output": output}}


def responses(*payloads: Entry) -> list[ResolvedEvent]:
    """Events of the Responses API."""
    return received("openai-responses", payloads)


def block(at: int, call: str, name: str, given: Entry | None = None) -> Entry:
    """An event of the Messages API that opens a call."""
    inner = {"type": "tool_use", "id": call, "name": name, "input": given or {}}
    return {"type": "content_block_start", "index": at, "content_block": inner}


def input_delta(at: int, text: str) -> Entry:
    """An event of the Messages API with a fragment of a call's input."""
    return {"type": "content_block_delta", "index": at, "delta": {"type": "input_json_delta", "partial_json": text}}


def anthropic(*payloads: Entry) -> list[ResolvedEvent]:
    """Events of the Messages API, with the final `message_stop`."""
    return received("anthropic", [*payloads, {"type": "message_stop"}])


def gemini(*events: Sequence[tuple[str, Entry]]) -> list[ResolvedEvent]:
    """Events of Gemini, each with calls (name and arguments)."""
    parts = [[{"functionCall": {"name": name, "args": args}} for name, args in event] for event in events]
    return received("gemini", [{"candidates": [{"index": 0, "content": {"parts": one}}]} for one in parts])


def echoed(*calls: tuple[str | None, str, str]) -> list[ReturnedCall]:
    """Calls as a client returns them: id, name, arguments."""
    return [ReturnedCall(*one) for one in calls]
