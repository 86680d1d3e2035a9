"""Builds events of Responses streams."""

from __future__ import annotations

from typing import Any

type Payload = dict[str, Any]

CREATED: Payload = {
    "type": "response.created",
    "response": {"id": "resp_1", "object": "response", "status": "in_progress", "output": [], "usage": None},
}


def item(arguments: str = "", place: int = 0, **fields: object) -> Payload:
    """Return a function call as an output item."""
    content = {"type": "function_call", "id": f"fc_{place}", "call_id": f"call_{place}", "name": "f"}
    return {**content, "arguments": arguments, **fields}


def added(arguments: str = "", place: int = 0, **fields: object) -> Payload:
    """Return the event that adds an item."""
    return {"type": "response.output_item.added", "output_index": place, "item": item(arguments, place, **fields)}


def delta(fragment: str, place: int = 0) -> Payload:
    """Return a delta of arguments."""
    kind = "response.function_call_arguments.delta"
    return {"type": kind, "item_id": f"fc_{place}", "output_index": place, "delta": fragment}


def done(arguments: str, place: int = 0) -> Payload:
    """Return the event with the complete arguments."""
    kind = "response.function_call_arguments.done"
    return {"type": kind, "item_id": f"fc_{place}", "output_index": place, "arguments": arguments}


def closed(arguments: str, place: int = 0, **fields: object) -> Payload:
    """Return the event that closes an item."""
    return {"type": "response.output_item.done", "output_index": place, "item": item(arguments, place, **fields)}


def call(arguments: str, place: int = 0) -> list[Payload]:
    """Return all events of a call, with its arguments in one delta."""
    return [added(place=place), delta(arguments, place), done(arguments, place), closed(arguments, place)]


def completed(*output: Payload, kind: str = "completed") -> Payload:
    """Return the terminal event of a response."""
    response = {"id": "resp_1", "object": "response", "status": kind, "output": list(output)}
    return {"type": f"response.{kind}", "response": response}


def numbered(first: int, *payloads: Payload) -> list[Payload]:
    """Return the events with sequence numbers."""
    return [{**one, "sequence_number": first + at} for at, one in enumerate(payloads)]
