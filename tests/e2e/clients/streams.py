"""Minimal responses for the client models, and saved responses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.clients.conversation import Json
    from toolstream_core.saved.flow import LlmFlow

FLOWS = Path(__file__).resolve().parents[3] / "flows"
END = b"data: [DONE]\n\n"


def saved(name: str) -> list[LlmFlow]:
    """The exchanges of a saved flow."""
    return load(FLOWS / f"{name}.flow")


def delta(arguments: str, index: int | None = 0, **fields: str) -> Json:
    """An entry of `tool_calls`; `fields` may have its `id` and `name`."""
    function = {"arguments": arguments, **({"name": fields["name"]} if "name" in fields else {})}
    place = {} if index is None else {"index": index}
    return {**place, **({"id": fields["id"]} if "id" in fields else {}), "type": "function", "function": function}


def chat(*entries: Json | Sequence[Json], end: bytes = END, message: Json | None = None) -> bytes:
    """Chat Completions: an event for each entry or list of entries. `message` is added to the last event."""
    deltas: list[Json] = [{"tool_calls": [one] if isinstance(one, dict) else list(one)} for one in entries]
    choices: list[Json] = [{"index": 0, "delta": each, "finish_reason": None} for each in deltas]
    more = {"message": message} if message else {}
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls", **more})
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": "m"}
    return b"".join(sse_event({**head, "choices": [choice]}) for choice in choices) + end


def self_contained(body: bytes) -> bytes:
    """Responses: all arguments of a call in one delta, together with its id and name."""
    found = []
    item: Json = {}
    for block in body.split(b"\n\n"):
        event = json.loads(block.partition(b"data: ")[2] or b"{}")
        item = event.get("item", item)
        if event.get("type") == "response.function_call_arguments.done":
            kind = "response.function_call_arguments.delta"
            place = {key: event[key] for key in ("item_id", "output_index", "sequence_number")}
            complete = {"delta": event["arguments"], "call_id": item["call_id"], "name": item["name"]}
            found.append(sse_event({"type": kind, **place, **complete}))
        if event and event["type"] != "response.function_call_arguments.delta":
            found.append(sse_event(event))
    return b"".join(found)


def sse_event(event: Json) -> bytes:
    """Serialize an event, with its name if it has a type."""
    named = f"event: {event['type']}\n" if "type" in event else ""
    return f"{named}data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
