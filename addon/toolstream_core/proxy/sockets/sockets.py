"""The WebSockets of one run of the proxy: finds those of LLMs, and watches them. Knows mitmproxy's flow."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mitmproxy import ctx, http
from mitmproxy.hooks import Hook

from toolstream_core.delivery.schedule import HttpError, Schedule, http_error
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.errors import kind_of
from toolstream_core.protocols.registry import SOCKETS, claiming
from toolstream_core.protocols.socket_wire import SocketLane, SocketRequest, SocketWire, Start
from toolstream_core.proxy.delivery import Delivery
from toolstream_core.proxy.flow_facts import json_response, note_fault, opens_socket
from toolstream_core.proxy.live_responses import LiveResponses
from toolstream_core.proxy.own_ids import restore, upstream, with_own_ids
from toolstream_core.proxy.sockets.provider import SocketProvider
from toolstream_core.proxy.sockets.relay import SocketRelay
from toolstream_core.proxy.sockets.response import SocketResponse
from toolstream_core.saved.flow import LINE_ENDS
from toolstream_core.saved.flowfile import SOCKET, note_of, response_flow
from toolstream_core.settings import NOTHING, Settings
from toolstream_core.sockets.saved import FIRST, how_closed
from toolstream_core.stages.response_ids import Ids
from toolstream_core.transit.actions import BreakKind, Cut
from toolstream_core.transit.definitions import Moment
from toolstream_core.wire.frame import parse
from toolstream_core.wire.write import encoded

logger = logging.getLogger(__name__)


@dataclass
class ToolstreamSocketRequestHook(Hook):
    """A client requests a response. The flow is the same request over HTTP, with the client's content."""

    flow: http.HTTPFlow


@dataclass
class ToolstreamSocketResponseHook(Hook):
    """Nothing more of a response is sent to the client."""

    flow: http.HTTPFlow


_STOPPED: Final = "toolstream stopped reading the WebSocket"
_INTERNAL_ERROR: Final = 1011
"""https://www.rfc-editor.org/rfc/rfc6455#section-7.4"""
REFUSED: Final = "toolstream_refused"
"""The key in the metadata of a refused request for a socket."""


class Sockets:
    """Finds the sockets of LLMs, and watches each of their responses."""

    def __init__(
        self,
        responses: LiveResponses,
        ids: Ids,
        order: Callable[[SocketRelay], bool],
        replayed: Callable[[http.HTTPFlow], None],
        strayed: Callable[[http.HTTPFlow, str, str], None],
    ) -> None:
        """`order` makes a layer send a socket's messages in order; it returns whether it can.

        `replayed` receives each response from a saved flow, `strayed` each error that belongs to no response, with its
        flow and protocol.
        """
        self.mode = "read"
        self.provider: SocketProvider | None = None
        """The substitute for the provider, if saved flows respond."""
        self._responses = responses
        self._ids = ids
        self._order = order
        self._replayed = replayed
        self._strayed = strayed
        self._relays: dict[str, SocketRelay] = {}
        self._unknown: dict[str, int] = {}
        """Sockets that may be an LLM's, and the number of messages from their clients."""
        self._served: set[str] = set()
        self._requests = 0

    def refuses(self, flow: http.HTTPFlow) -> bool:
        """Refuse a request to open a socket, if its client uses HTTP then. Returns whether that was done.

        https://www.rfc-editor.org/rfc/rfc9110#name-426-upgrade-required
        """
        if self.mode != "refuse" or not opens_socket(flow.request):
            return False
        if not any(wire.falls_back and wire.claims(flow.request.path) for wire in SOCKETS):
            return False
        error = {"message": "toolstream rejects WebSockets here; use HTTP", "type": "invalid_request_error"}
        body = {"error": {**error, "param": None, "code": "websocket_refused"}}
        flow.response = json_response(426, body, upgrade="HTTP/1.1", connection="upgrade")
        flow.comment = "rejected by toolstream_websocket"
        flow.metadata[REFUSED] = True
        return True

    def serves(self, flow: http.HTTPFlow) -> bool:
        """Open the socket here if saved flows respond. Returns whether that was done."""
        if self.provider is None or self.mode != "read" or not self.provider.accept(flow):
            return False
        self._served.add(flow.id)
        return True

    def served(self, flow: http.HTTPFlow) -> bool:
        """Whether a socket is served by toolstream."""
        return flow.id in self._served

    def reads(self, flow: http.HTTPFlow) -> bool:
        """Whether the messages of a WebSocket are read."""
        return flow.id in self._relays or flow.id in self._unknown

    def start(self, flow: http.HTTPFlow) -> None:
        """A socket was opened."""
        if self.mode != "read":
            return
        wire = next((one for one in SOCKETS if one.claims(flow.request.path)), None)
        if wire is not None:
            if self._responses.settings.destream:
                logger.warning("toolstream does not destream the WebSocket %s: its responses always stream", flow.id)
            self._watch(flow, wire)
            return
        self._unknown[flow.id] = 0
        if claiming(flow.request.path) is not None:
            logger.warning("toolstream cannot read the WebSocket %s and forwards it unchanged", flow.id)

    def message(self, flow: http.HTTPFlow) -> None:
        """Take the flow's last message."""
        assert flow.websocket is not None
        message = flow.websocket.messages[-1]
        relay = self._relays.get(flow.id)
        if relay is None and flow.id in self._unknown and message.from_client:
            relay = self._recognised(flow, message.content)
        if relay is None:
            return
        try:
            relay.take(message)
        except Exception:  # noqa: BLE001 - after any error, the message is forwarded
            self._failed(flow)
        if not relay.kept:
            del flow.websocket.messages[:-1]

    def end(self, flow: http.HTTPFlow) -> None:
        """A socket was closed."""
        self._unknown.pop(flow.id, None)
        relay = self._relays.pop(flow.id, None)
        self._served.discard(flow.id)
        if relay is not None:
            relay.end(_how_closed(flow))

    def _recognised(self, flow: http.HTTPFlow, content: bytes) -> SocketRelay | None:
        """Find out by a client's first messages whether a socket is an LLM's."""
        payload = parse(content)
        wire = next((one for one in SOCKETS if one.recognise(payload)), None)
        if wire is not None:
            del self._unknown[flow.id]
            return self._watch(flow, wire)
        self._unknown[flow.id] += 1
        if self._unknown[flow.id] >= FIRST:
            del self._unknown[flow.id]
        return None

    def _watch(self, flow: http.HTTPFlow, wire: SocketWire) -> SocketRelay:
        place = upstream(flow, flow.request.pretty_host)
        host = wire.host(flow.request.path) if flow.id in self._served and wire.host is not None else None
        relay = SocketRelay(
            flow,
            wire,
            host,
            lambda request: self._begin(relay, request),
            lambda content: with_own_ids(content, self._ids, place),
            self._close,
            lambda error: self._strayed(flow, wire.protocol, error),
            lambda: self._failed(flow),
        )
        self._relays[flow.id] = relay
        relay.kept = _wanted_by_user()
        if host is not None and self.provider is not None:
            relay.say(host.opened(self.provider.example(flow)), binary=False)
        if self._responses.settings.rewrites or relay.served:
            relay.ordered = self._order(relay)
            if not relay.ordered:
                logger.warning("toolstream only reads the WebSocket %s: it was opened before repairs were on", flow.id)
        return relay

    def _begin(self, relay: SocketRelay, request: SocketRequest) -> SocketResponse | None:
        """Begin a requested response; `None` if the provider has not begun it yet."""
        socket = relay.flow
        settings = self._responses.settings if relay.ordered else NOTHING
        place = SocketLane(relay.wire, request.lane, request.event)
        error = self._error(socket, request, settings)
        if error is None and request.start is Start.LATER:
            return None
        relay.begun += 1
        flow = response_flow(socket, request, relay.begun)
        ctx.master.addons.trigger(ToolstreamSocketRequestHook(flow))
        self._responses.on_request(flow)
        restore(flow, self._ids)
        message = None
        if error is not None:
            message = encoded(place.error(kind_of(error.status), error.status, error.headers))
            note_fault(flow, error.spec)
            settings = NOTHING
        provider = self.provider if relay.served and error is None else None
        saved = None if provider is None else provider.respond(flow, place)
        if saved is not None:
            self._replayed(flow)
        live, faults = self._responses.begin(flow, self._responses.request_of(flow), delivering=True, settings=settings)
        delivery = None
        if settings.transit or saved is not None:
            schedule = Schedule(live.exchange, faults, socket=place) if faults else None
            delivery = Delivery(live, schedule, saved, 0.0 if provider is None else provider.speed)
        response = SocketResponse(live, place, delivery, message, saved)
        if saved is not None:
            response.serve()
        return response

    def _error(self, socket: http.HTTPFlow, request: SocketRequest, settings: Settings) -> HttpError | None:
        """The error to send instead of a response; `None` if the request is forwarded to the provider."""
        if not settings.transit or request.start is Start.ANNOUNCED:
            return None
        self._requests += 1
        facts = StreamFacts(host=socket.request.pretty_host, path=socket.request.path, request=request.body)
        return http_error(settings, facts, self._requests, Moment.MESSAGE)

    def _close(self, response: SocketResponse) -> None:
        """Nothing more of a response is sent to the client."""
        flow = response.live.flow
        flow.metadata[SOCKET] |= note_of(response.lane, flow.request.timestamp_start, response.others)
        if response.line_ends:
            flow.metadata[SOCKET][LINE_ENDS] = response.line_ends.places
        self._responses.take(flow.id)
        self._responses.close(flow, response.live)
        ctx.master.addons.trigger(ToolstreamSocketResponseHook(flow))

    def _failed(self, flow: http.HTTPFlow) -> None:
        relay = self._relays.pop(flow.id, None)
        if relay is None:
            return
        logger.error("toolstream stopped reading the WebSocket %s and forwards it unchanged", flow.id)
        if relay.served:
            relay.broken = Cut(BreakKind.CLOSE, _STOPPED, _INTERNAL_ERROR)
        with contextlib.suppress(Exception):  # after any other error, messages are forwarded
            if relay.ordered and not relay.served:
                relay.release(_STOPPED)
            relay.end(_STOPPED)
        relay.ordered = False


def _wanted_by_user() -> bool:
    """Whether flows are kept or shown: the messages of a socket must stay then."""
    saved = bool(getattr(ctx.options, "save_stream_file", None) or getattr(ctx.options, "hardump", ""))
    return saved or ctx.master.addons.get("view") is not None


def _how_closed(flow: http.HTTPFlow) -> str:
    assert flow.websocket is not None
    return how_closed(flow.websocket.close_code, by_client=bool(flow.websocket.closed_by_client))
