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
    return [*_of_response(one, added), last]


def said(one: Promotion) -> list[Frame]:
    """The frames with only the calls."""
    return _of_response(one, responses.said(one))


def _of_response(one: Promotion, frames: list[Frame]) -> list[Frame]:
    """Events with an id of their own and that of the response that they are of."""
    came = one.event.frame.json
    event = json_access.get(came, "event_id")
    given = json_access.get(came, "response_id")
    response = given if isinstance(given, str) else json_access.get(came, "response", "id")
    whose = {"response_id": response} if isinstance(response, str) else {}
    return [
        one.writer.rewrite(frame, {"event_id": f"{event}_{at}", **whose, **frame.json})
        for at, frame in enumerate(frames)
        if isinstance(frame.json, dict)
    ]
