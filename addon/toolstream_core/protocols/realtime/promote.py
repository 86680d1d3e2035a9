"""Adds Realtime calls for what came as text, before the terminal event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.responses import promote as responses
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.stages.promotion import Promotion
    from toolstream_core.wire.frame import Frame


def promoted(one: Promotion) -> list[Frame]:
    """The frames with the calls and the terminal event; see `WireProtocol.promoted`."""
    *added, last = responses.promoted(one)
    came = one.event.frame.json
    response = json_access.get(came, "response", "id")
    event = json_access.get(came, "event_id")
    return [
        *(
            one.writer.rewrite(frame, {"event_id": f"{event}_{at}", "response_id": response, **frame.json})
            for at, frame in enumerate(added)
            if isinstance(frame.json, dict)
        ),
        last,
    ]
