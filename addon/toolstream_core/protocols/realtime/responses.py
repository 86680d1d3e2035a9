"""Realtime responses that toolstream writes: those of the Responses API in the form of Realtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolstream_core.protocols import openai_errors
from toolstream_core.protocols.healthy_response import HealthyResponse, deltas
from toolstream_core.protocols.realtime.events import realtime_events, realtime_response, responses_response
from toolstream_core.protocols.realtime.reader import RESPONSE
from toolstream_core.protocols.responses import responses
from toolstream_core.protocols.socket_wire import SocketError
from toolstream_core.protocols.unstreamed_parts import dictionary, uncut
from toolstream_core.wire import json_access
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.model import Call, Json
    from toolstream_core.protocols.provider_error import ErrorKind
    from toolstream_core.protocols.unstreamed_parts import Cut, Payload, Payloads
    from toolstream_core.stages.promotion import Promotion
    from toolstream_core.wire.frame import Frame


def streamed(response: Payload, request: Json, cut: Cut = uncut) -> Iterator[bytes]:
    """The messages, one a line; see `WireProtocol.streamed`."""
    del request
    if response.get("object") == RESPONSE:
        for event in realtime_events(responses.events(responses_response(response), cut)):
            yield encoded(event) + b"\n"


def assembled(payloads: Payloads, calls: Sequence[Call]) -> Json:
    """The complete response of a stream; see `WireProtocol.assembled`."""
    return realtime_response(dictionary(responses.assembled(payloads, calls)))


def healthy_stream(response: HealthyResponse) -> Iterator[bytes]:
    """The messages, one a line."""
    return streamed(healthy_unstreamed(response), response.request, deltas)


def healthy_unstreamed(response: HealthyResponse) -> dict[str, Any]:
    """The response that the last message has."""
    return realtime_response(responses.healthy_unstreamed(response))


def promoted(promotion: Promotion) -> list[Frame]:
    """The frames with the calls and the terminal event; see `WireProtocol.promoted`."""
    *added, last = responses.promoted(promotion)
    return [*_of_response(promotion, added), last]


def _of_response(promotion: Promotion, frames: list[Frame]) -> list[Frame]:
    """Events with an id of their own and that of the response that they are of."""
    payload = promotion.event.frame.json
    event = json_access.get(payload, "event_id")
    given = json_access.get(payload, "response_id")
    response = given if isinstance(given, str) else json_access.get(payload, "response", "id")
    whose = {"response_id": response} if isinstance(response, str) else {}
    return [
        promotion.writer.rewrite(frame, {"event_id": f"{event}_{at}", **whose, **frame.json})
        for at, frame in enumerate(frames)
        if isinstance(frame.json, dict)
    ]


def error_event(kind: ErrorKind, number: int) -> bytes:
    """An error as a line; see `WireProtocol.error_event`."""
    error = openai_errors.realtime_error(SocketError(kind, kind.status))
    return encoded({**error, "event_id": f"event_error_{number}"}) + b"\n"


error_body, not_saved = openai_errors.body, openai_errors.not_saved
