"""Makes Converse calls of what was text, before the event that says the finish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.bedrock.converse_event import (
    BLOCK_DELTA,
    BLOCK_START,
    BLOCK_STOP,
    INDEX,
    event_of,
    input_delta,
    made,
)

if TYPE_CHECKING:
    from toolstream_core.stages.promotion import Promotion
    from toolstream_core.wire.frame import Frame


def promoted(one: Promotion) -> list[Frame]:
    """As `WireProtocol.promoted`."""
    event = event_of(one.event.frame)
    if event is None:
        return [one.event.frame]
    ends = event.body.get("stopReason") == "end_turn"
    last = event.with_body({**event.body, "stopReason": "tool_use"}) if ends else event.payload
    return [*said(one), one.finished(last)]


def said(one: Promotion) -> list[Frame]:
    """As `WireProtocol.said`."""
    event = event_of(one.event.frame)
    out: list[Frame] = []
    for place, (identity, wanted) in enumerate(one.calls, one.place):
        start = {INDEX: place, "start": {"toolUse": {"toolUseId": identity, "name": wanted.name}}}
        bodies = (
            (BLOCK_START, start),
            (BLOCK_DELTA, input_delta(place, wanted.arguments)),
            (BLOCK_STOP, {INDEX: place}),
        )
        keyed = event is not None and event.keyed
        out += [made(one.writer, kind, body, one.event.frame.number, keyed=keyed) for kind, body in bodies]
    return out
