"""Sockets without a provider: the responses are saved or generated. Knows mitmproxy's flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mitmproxy import http
from wsproto.utilities import generate_accept_token

from toolstream_core.model import BAD_STATUS, Chunk, Json
from toolstream_core.protocols.errors import kind_of
from toolstream_core.protocols.registry import SOCKETS, claiming
from toolstream_core.protocols.socket_wire import SocketLane
from toolstream_core.proxy.flow_facts import NOTED, REPLAY, Provided, opens_socket, provided
from toolstream_core.proxy.provider import AnyProvider
from toolstream_core.saved.flow import content_of, request_json
from toolstream_core.saved.flowfile import socket_lines
from toolstream_core.saved.matching import MatchOutcome
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import CONTENT_TYPES, Form, parse
from toolstream_core.wire.write import encoded

_DEFLATE: Final = "permessage-deflate"
_DEMANDS: Final = ("server_no_context_takeover", "server_max_window_bits")
"""Unsupported demands of a client on the server's compression: https://www.rfc-editor.org/rfc/rfc7692"""


class SocketProvider:
    """The server of sockets."""

    def __init__(self, provider: AnyProvider, speed: float) -> None:
        """`provider` responds to each request. Saved responses are sent `speed` times as fast, at once if that is 0."""
        self.speed = speed
        self._provider = provider

    def accept(self, flow: http.HTTPFlow) -> bool:
        """Open the requested socket, if toolstream can be its server. Returns whether that was done."""
        served = any(wire.host is not None and wire.claims(flow.request.path) for wire in SOCKETS)
        if not (served and opens_socket(flow.request)):
            return False
        key = flow.request.headers.get("sec-websocket-key", "")
        headers = {
            "upgrade": "websocket",
            "connection": "upgrade",
            "sec-websocket-accept": generate_accept_token(key.encode("ascii", "replace")).decode(),
        }
        if _compresses(flow.request.headers.get_all("sec-websocket-extensions")):
            headers["sec-websocket-extensions"] = _DEFLATE
        offered = flow.request.headers.get("sec-websocket-protocol", "").partition(",")[0].strip()
        if offered:
            headers["sec-websocket-protocol"] = offered
        flow.response = http.Response.make(101, b"", headers)
        del flow.response.headers["content-length"]
        flow.comment = "served by toolstream_provider"
        return True

    def example(self, flow: http.HTTPFlow) -> Json:
        """A saved request that is possible on a socket; `ABSENT` if none is known."""
        return self._provider.example(flow.request.path)

    def respond(self, flow: http.HTTPFlow, place: SocketLane) -> Provided:
        """The response to a socket's request, which is a separate flow, as lines with their times."""
        head = flow.response
        request = request_json(flow.request)
        warm = place.wire.warm_up(request, flow.id)
        if warm and not self._provider.recorded(flow):
            return _at_once(warm, place)
        complete_flow = flow.copy()
        self._provider.respond(flow)
        saved = provided(flow)
        provider_response, flow.response = flow.response, head
        flow.metadata.pop(NOTED, None)
        if json_access.get(flow.metadata, REPLAY, "answer") == MatchOutcome.REFUSED and (
            events := self._events(complete_flow)
        ):
            flow.metadata[REPLAY], flow.comment = complete_flow.metadata[REPLAY], complete_flow.comment
            return _at_once(events, place)
        if provider_response is None or provider_response.status_code >= BAD_STATUS:
            return _error(provider_response, place)
        chunks = [Chunk(0, content_of(provider_response))] if saved is None else saved.chunks
        lines = socket_lines(chunks, provider_response.headers.get("content-type", ""), place)
        messages = {} if saved is None else saved.messages
        return Provided(lines, None if saved is None else saved.broken, messages)

    def _events(self, flow: http.HTTPFlow) -> list[bytes]:
        """The events of a saved response without streaming, if one matches."""
        request, protocol = request_json(flow.request), claiming(flow.request.path)
        if protocol is None or not isinstance(request, dict):
            return []
        flow.request.content = encoded(protocol.api.unstreamed(request))
        self._provider.respond(flow)
        if flow.response is None or flow.response.status_code >= BAD_STATUS:
            return []
        return list(protocol.streamed(parse(content_of(flow.response)), request))


def _at_once(events: Sequence[bytes], place: SocketLane) -> Provided:
    return Provided(socket_lines([Chunk(0, event) for event in events], CONTENT_TYPES[Form.EVENTS], place), None)


def _error(response: http.Response | None, place: SocketLane) -> Provided:
    """An HTTP error as the only message of a response."""
    status = 404 if response is None else response.status_code
    headers = {} if response is None else response.headers
    later = {name: value for name, value in headers.items() if name.lower() == "retry-after"}
    why = json_access.get(parse(b"" if response is None else content_of(response)), "error")
    error = place.error(kind_of(status), status, later, why if isinstance(why, dict) else None)
    return Provided(socket_lines([Chunk(0, encoded(error) + b"\n")], CONTENT_TYPES[Form.LINES], place), None)


def _compresses(offers: Sequence[str]) -> bool:
    """Whether a client offers compression and demands nothing of it."""
    return any(
        offer.split(";")[0].strip() == _DEFLATE and not any(demand in offer for demand in _DEMANDS)
        for offered in offers
        for offer in offered.split(",")
    )
