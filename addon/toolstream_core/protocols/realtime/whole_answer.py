"""Realtime: converts a complete response to a stream, and a stream to a complete response."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.answers import dictionary, uncut
from toolstream_core.protocols.realtime.events import realtime_events, realtime_response, responses_response
from toolstream_core.protocols.realtime.reader import RESPONSE
from toolstream_core.protocols.responses import whole_answer as responses
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.model import Call, Json
    from toolstream_core.protocols.answers import Cut, Payload, Payloads


def streamed(answer: Payload, request: Json, cut: Cut = uncut) -> Iterator[bytes]:
    """The messages, one a line; see `WireProtocol.streamed`."""
    del request
    if answer.get("object") == RESPONSE:
        for event in realtime_events(responses.events(responses_response(answer), cut)):
            yield encoded(event) + b"\n"


def assembled(payloads: Payloads, calls: Sequence[Call]) -> Json:
    """The complete response of a stream; see `WireProtocol.assembled`."""
    return realtime_response(dictionary(responses.assembled(payloads, calls)))
