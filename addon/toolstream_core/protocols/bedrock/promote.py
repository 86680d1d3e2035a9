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
    out: list[Frame] = []
    for place, (identity, leaked) in enumerate(one.calls, one.place):
        start = {INDEX: place, "start": {"toolUse": {"toolUseId": identity, "name": leaked.name}}}
        bodies = (
            (BLOCK_START, start),
            (BLOCK_DELTA, input_delta(place, leaked.arguments)),
            (BLOCK_STOP, {INDEX: place}),
        )
        out += [made(one.writer, kind, body, one.event.frame.number, keyed=event.keyed) for kind, body in bodies]
    ends = event.body.get("stopReason") == "end_turn"
    return [*out, one.finished(event.with_body({**event.body, "stopReason": "tool_use"}) if ends else event.payload)]
