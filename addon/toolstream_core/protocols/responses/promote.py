"""Adds Responses calls for what came as text, before the terminal event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.stages.promotion import Payload, Promotion, Wanted
    from toolstream_core.wire.frame import Frame


def promoted(one: Promotion) -> list[Frame]:
    """The frames with the calls and the terminal event; see `WireProtocol.promoted`."""
    payload: Payload = one.event.frame.json  # type: ignore[assignment] # a finish was read from it
    response = payload.get("response")
    if not isinstance(response, dict):
        return [*said(one), one.event.frame]
    items = [_item(identity, wanted, wanted.arguments, "completed") for identity, wanted in one.calls]
    output = [*json_access.items(response.get("output")), *items]
    return [*said(one), one.writer.rewrite(one.event.frame, {**payload, "response": {**response, "output": output}})]


def said(one: Promotion) -> list[Frame]:
    """The frames with only the calls."""
    out: list[Frame] = []
    for at, (identity, wanted) in enumerate(one.calls):
        whose, place = {"item_id": f"fc_{identity}"}, {"output_index": one.place + at}
        kind = "response.function_call_arguments"
        opened, whole = (
            _item(identity, wanted, "", "in_progress"),
            _item(identity, wanted, wanted.arguments, "completed"),
        )
        out += one.made(
            {"type": "response.output_item.added", **place, "item": opened},
            {"type": f"{kind}.delta", **whose, **place, "delta": wanted.arguments},
            {"type": f"{kind}.done", **whose, **place, "arguments": wanted.arguments},
            {"type": "response.output_item.done", **place, "item": whole},
        )
    return out


def _item(identity: str, wanted: Wanted, arguments: str, status: str) -> dict[str, Json]:
    item = {"type": "function_call", "id": f"fc_{identity}", "call_id": identity, "name": wanted.name}
    return {**item, "arguments": arguments, "status": status}
