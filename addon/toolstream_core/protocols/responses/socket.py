"""Responses over a WebSocket.

https://developers.openai.com/api/docs/guides/websocket-mode
https://docs.x.ai/developers/advanced-api-usage/websocket-mode
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, override

from toolstream_core.protocols.errors import stray_error
from toolstream_core.protocols.openai_errors import socket_error
from toolstream_core.protocols.responses import RESPONSES
from toolstream_core.protocols.socket_wire import SocketEvent, SocketRequest, SocketTalk, SocketWire, on_demand
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from toolstream_core.model import Json

_CREATE: Final = "response.create"
_OF_TRANSPORT: Final = frozenset({"type", "stream_id"})
"""Keys of the message that the body of the same request over HTTP has not."""
ENDS: Final = frozenset(
    {
        "error",
        "response.cancelled",
        "response.completed",
        "response.done",
        "response.failed",
        "response.incomplete",
    }
)
"""Types of the events that end a response."""
_LANE: Final = b'"stream_id"'
_EDGE: Final = re.compile(rb'"(?:error|response\.(?:created|cancelled|completed|done|failed|incomplete))"|\\u')
"""Matches events that may be a response's first or last one. An event with an escaped type is parsed too."""
_OF_NO_RESPONSE: Final = re.compile(rb'^\s*\{\s*"type"\s*:\s*"(?!response\.|error")')


class ResponsesTalk(SocketTalk):
    """A socket with one response at a time for each `stream_id`, and for messages without one."""

    @override
    def read_request(self, message: Json) -> SocketRequest | None:
        if not isinstance(message, dict) or message.get("type") != _CREATE:
            return None
        body = {key: value for key, value in message.items() if key not in _OF_TRANSPORT}
        return SocketRequest(lane_of(message), {**body, "stream": True})

    @override
    def read_event(self, raw: bytes) -> SocketEvent | None:
        if _LANE not in raw and _EDGE.search(raw) is None:
            return None if _OF_NO_RESPONSE.match(raw) else SocketEvent("")
        payload = parse(raw)
        kind = json_access.get(payload, "type")
        if not isinstance(kind, str):
            return SocketEvent(lane_of(payload))
        if kind != "error" and not kind.startswith("response."):
            return None
        return SocketEvent(lane_of(payload), starts=kind == "response.created", ends=kind in ENDS)


def lane_of(message: Json) -> str:
    """The lane that a message names; `""` where it names none."""
    lane = json_access.get(message, "stream_id")
    return lane if isinstance(lane, str) else ""


RESPONSES_SOCKET: Final = SocketWire(
    dialect=RESPONSES.name,
    claims=RESPONSES.claims,
    recognise=lambda message: json_access.get(message, "type") == _CREATE,
    talk=ResponsesTalk,
    falls_back=True,
    lane_key="stream_id",
    error=socket_error,
    stray_error=stray_error,
    warm_up=on_demand("toolstream_core.protocols.responses.responses", "warmed_up"),
    host=on_demand("toolstream_core.protocols.responses.host", "ResponsesHost"),
)
