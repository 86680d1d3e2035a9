"""Events of Responses streams, for samples."""

from __future__ import annotations

from typing import Any

type Payload = dict[str, Any]

CREATED: Payload = {
    "type": "response.created",
    "response": {"id": "resp_1", "object": "response", "status": "in_progress", "output": [], "usage": None},
}


def item(said: str = "", place: int = 0, **fields: object) -> Payload:
    """A function call as an output item."""
    content = {"type": "function_call", "id": f"fc_{place}", "call_id": f"call_{place}", "name": "f"}
    return {**content, "arguments": said, **fields}


def added(said: str = "", place: int = 0, **fields: object) -> Payload:
    """It is added."""
    return {"type": "response.output_item.added", "output_index": place, "item": item(said, place, **fields)}


def delta(piece: str, place: int = 0) -> Payload:
    """A piece of its arguments."""
    kind = "response.function_call_arguments.delta"
    return {"type": kind, "item_id": f"fc_{place}", "output_index": place, "delta": piece}


def done(said: str, place: int = 0) -> Payload:
    """Its arguments are over."""
    kind = "response.function_call_arguments.done"
    return {"type": kind, "item_id": f"fc_{place}", "output_index": place, "arguments": said}


def closed(said: str, place: int = 0, **fields: object) -> Payload:
    """It is closed."""
    return {"type": "response.output_item.done", "output_index": place, "item": item(said, place, **fields)}


def call(said: str, place: int = 0) -> list[Payload]:
    """All events of a call, with its arguments in one delta."""
    return [added(place=place), delta(said, place), done(said, place), closed(said, place)]


def completed(*output: Payload, kind: str = "completed") -> Payload:
    """The response is over."""
    response = {"id": "resp_1", "object": "response", "status": kind, "output": list(output)}
    return {"type": f"response.{kind}", "response": response}


def numbered(first: int, *payloads: Payload) -> list[Payload]:
    """With sequence numbers."""
    return [{**one, "sequence_number": first + at} for at, one in enumerate(payloads)]
