"""Makes Cohere calls of what was text, before the event that says the finish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.cohere.wire import call_delta, call_end, call_start

if TYPE_CHECKING:
    from toolstream_core.stages.promotion import Payload, Promotion
    from toolstream_core.wire.frame import Frame


def promoted(one: Promotion) -> list[Frame]:
    """As `WireProtocol.promoted`."""
    payload: Payload = one.event.frame.json  # type: ignore[assignment] # a finish was read from it
    delta = payload["delta"]
    changed = {**delta, "finish_reason": "TOOL_CALL"} if delta.get("finish_reason") == "COMPLETE" else delta
    return [*said(one), one.finished({**payload, "delta": changed})]


def said(one: Promotion) -> list[Frame]:
    """As `WireProtocol.said`."""
    out: list[Frame] = []
    for index, (identity, wanted) in enumerate(one.calls, one.before):
        start, delta = call_start(index, identity, wanted.name), call_delta(index, wanted.arguments)
        out += one.made(start, delta, call_end(index))
    return out
