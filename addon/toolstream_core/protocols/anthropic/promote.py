"""Makes Anthropic calls of what was text, before the event that says the finish."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolstream_core.stages.promotion import Payload, Promotion
    from toolstream_core.wire.frame import Frame


def promoted(one: Promotion) -> list[Frame]:
    """As `WireProtocol.promoted`."""
    payload: Payload = one.event.frame.json  # type: ignore[assignment] # a finish was read from it
    delta = payload["delta"]
    changed = {**delta, "stop_reason": "tool_use"} if delta.get("stop_reason") == "end_turn" else delta
    return [*said(one), one.finished({**payload, "delta": changed})]


def said(one: Promotion) -> list[Frame]:
    """As `WireProtocol.said`."""
    out: list[Frame] = []
    for at, (identity, wanted) in enumerate(one.calls):
        place = {"index": one.place + at}
        block = {"type": "tool_use", "id": identity, "name": wanted.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": wanted.arguments}
        out += one.made(
            {"type": "content_block_start", **place, "content_block": block},
            {"type": "content_block_delta", **place, "delta": delta},
            {"type": "content_block_stop", **place},
        )
    return out
