"""Responses over a WebSocket: which messages belong to a response, and how the API is served.

https://developers.openai.com/api/docs/guides/websocket-mode
https://docs.x.ai/developers/advanced-api-usage/websocket-mode
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Sequence
from typing import Final, override

from toolstream_core.model import Json
from toolstream_core.protocols.errors import ErrorKind, stray_error
from toolstream_core.protocols.openai_errors import socket_error
from toolstream_core.protocols.responses import RESPONSES
from toolstream_core.protocols.socket_wire import (
    Reply,
    SocketError,
    SocketEvent,
    SocketHost,
    SocketRequest,
    SocketTalk,
    SocketWire,
    on_demand,
)
from toolstream_core.protocols.writing import dictionary
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse

_CREATE: Final = "response.create"
_OF_TRANSPORT: Final = frozenset({"type", "stream_id"})
"""Keys of the message that the body of the same request over HTTP does not have."""
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
    """The lane that a message names; `""` if it names none."""
    lane = json_access.get(message, "stream_id")
    return lane if isinstance(lane, str) else ""


_INVALID: Final = "invalid_request_error"
_REMEMBERED: Final = 256
"""Number of finished responses that may still be named."""
_NOT_STEERED: Final = {
    "steering_not_supported": "toolstream serves this response as it is, and cannot steer it.",
    "response_already_completed": "The response is no longer accepting steering input.",
    "response_not_found": "There is no such response on this connection.",
}
"""The messages by OpenAI's codes: https://developers.openai.com/api/reference/resources/responses"""


class SentSoFar:
    """The client's response object, from the forwarded events."""

    def __init__(self) -> None:
        self.response: dict[str, Json] = {}
        """The object in the first event."""
        self.output: list[Json] = []
        """The complete items."""
        self.number = -1
        """The number of the last event, if events are numbered."""
        self.ended = False
        """Whether its last event was sent."""

    @property
    def id(self) -> Json:
        """The id of the response; `None` if no event was sent yet."""
        return self.response.get("id")

    def take(self, event: Json, *, ends: bool) -> None:
        """Take the next sent event."""
        self.ended = self.ended or ends
        number = json_access.integer(json_access.get(event, "sequence_number"))
        if isinstance(number, int):
            self.number = number
        if not self.response:
            self.response = dictionary(json_access.get(event, "response"))
        if json_access.get(event, "type") == "response.output_item.done":
            self.output.append(json_access.get(event, "item"))

    def cancelled(self, token: str) -> dict[str, Json]:
        """The response that stops here; `token` makes its id if no event was sent yet."""
        return {"id": f"resp_{token}", **self.response, "status": "cancelled", "output": [*self.output]}


class ResponsesHost(ResponsesTalk, SocketHost):
    """One socket that is served."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._under_way: dict[str, SentSoFar] = {}
        self._over: deque[Json] = deque(maxlen=_REMEMBERED)

    @override
    def replied(self, message: Json, lanes: Collection[str]) -> Reply:
        kind = json_access.get(message, "type")
        if kind == "response.cancel":
            return self._cancelled(message, lanes)
        return Reply([self._not_steered(message)] if kind == "response.steer" else ())

    @override
    def sent(self, lane: str, raw: bytes) -> Sequence[Json]:
        event = parse(raw)
        self._under_way.setdefault(lane, SentSoFar()).take(event, ends=json_access.get(event, "type") in ENDS)
        return ()

    @override
    def response_ended(self, lane: str) -> None:
        response = self._under_way.pop(lane, None)
        if response is not None:
            self._over.append(response.id)

    def _cancelled(self, message: Json, lanes: Collection[str]) -> Reply:
        """The end of the response that is named, of its lane's, or of the only one.

        The SDKs have no type for it; the event is named after the status, like all final events.
        """
        named, lane = json_access.get(message, "response_id"), self._lane(message, "response_id")
        if lane is None and not isinstance(named, str):
            lane = lane_of(message) if lane_of(message) in lanes else next(iter(lanes)) if len(lanes) == 1 else None
        response = SentSoFar() if lane is None else self._under_way.get(lane, SentSoFar())
        if lane is None or response.ended:
            why = {"type": _INVALID, "code": "response_not_active", "message": "There is no response to cancel."}
            return Reply([_placed(message, socket_error(SocketError(ErrorKind.INVALID, 400, given=why)))])
        end = {"type": "response.cancelled", "response": response.cancelled("cancelled")}
        return Reply(cancelled=lane, last={**end, "sequence_number": response.number + 1})

    def _not_steered(self, message: Json) -> Json:
        """A confirmation that the response continues, with the input: the client may repeat its request."""
        named, lane = json_access.get(message, "previous_response_id"), self._lane(message, "previous_response_id")
        response = None if lane is None else self._under_way[lane]
        if response is None:
            code = "response_already_completed" if named in self._over else "response_not_found"
        else:
            code = "response_already_completed" if response.ended else "steering_not_supported"
        steer = {key: value for key in ("input", "previous_response_id") if (value := json_access.get(message, key))}
        return _placed(
            {"stream_id": lane or lane_of(message)},
            {
                "type": "response.steer.failed",
                "sequence_number": 0 if response is None else response.number,
                "error": {"type": _INVALID, "code": code, "message": _NOT_STEERED[code]},
                "steer": steer,
            },
        )

    def _lane(self, message: Json, key: str) -> str | None:
        """The lane of the response in flight whose id a message has under `key`; without an id, of the named one."""
        named = json_access.get(message, key)
        if isinstance(named, str):
            return next((lane for lane, response in self._under_way.items() if response.id == named), None)
        return lane_of(message) if lane_of(message) in self._under_way else None


def _placed(message: Json, reply: Json) -> Json:
    """A reply in the lane of its request."""
    lane = lane_of(message)
    return {**reply, "stream_id": lane} if lane and isinstance(reply, dict) else reply


RESPONSES_SOCKET: Final = SocketWire(
    protocol=RESPONSES.name,
    claims=RESPONSES.claims,
    recognise=lambda message: json_access.get(message, "type") == _CREATE,
    talk=ResponsesTalk,
    falls_back=True,
    lane_key="stream_id",
    error=socket_error,
    stray_error=stray_error,
    warm_up=on_demand("toolstream_core.protocols.responses.responses", "warmed_up"),
    host=ResponsesHost,
)
