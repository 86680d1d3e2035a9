"""Adds Responses calls for what came as text, before the terminal event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.stages.promotion import Payload, Promotion
    from toolstream_core.wire.frame import Frame


def promoted(one: Promotion) -> list[Frame]:
    """The frames with the calls and the terminal event; see `WireProtocol.promoted`."""
    payload: Payload = one.event.frame.json  # type: ignore[assignment] # a finish was read from it
    out: list[Frame] = []
    items: list[Json] = []
    for at, (identity, leaked) in enumerate(one.calls):
        own, place = f"fc_{identity}", {"output_index": one.place + at}
        item = {"type": "function_call", "id": own, "call_id": identity, "name": leaked.name, "arguments": ""}
        whole = {**item, "arguments": leaked.arguments, "status": "completed"}
        items.append(whole)
        kind = "response.function_call_arguments"
        out += one.made(
            {"type": "response.output_item.added", **place, "item": {**item, "status": "in_progress"}},
            {"type": f"{kind}.delta", "item_id": own, **place, "delta": leaked.arguments},
            {"type": f"{kind}.done", "item_id": own, **place, "arguments": leaked.arguments},
            {"type": "response.output_item.done", **place, "item": whole},
        )
    response = payload.get("response")
    if isinstance(response, dict):
        output = [*json_access.items(response.get("output")), *items]
        return [*out, one.writer.rewrite(one.event.frame, {**payload, "response": {**response, "output": output}})]
    return [*out, one.event.frame]
