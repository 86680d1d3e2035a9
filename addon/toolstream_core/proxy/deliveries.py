"""The deliveries of responses that need one, and the gate for them. Knows mitmproxy's flow and its addons."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

import mitmproxy.version
from mitmproxy import ctx, http
from mitmproxy.addons.clientplayback import ReplayHandler

from toolstream_core.defects.defect import LIVE
from toolstream_core.defects.finish import MISSING_CALLS
from toolstream_core.delivery import second_request
from toolstream_core.delivery.schedule import Drawn, Schedule, http_error
from toolstream_core.model import ABSENT, BAD_STATUS, Change, Chunk, Json, StreamFacts
from toolstream_core.protocols.errors import ErrorKind, kind_of
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.protocols.registry import PROTOCOLS, SOCKETS, claiming
from toolstream_core.protocols.requests.match_key import looks_like_llm, wants_stream
from toolstream_core.proxy.delivery import ASKING, FETCHING, Delivery
from toolstream_core.proxy.flow_facts import json_response, note_fault, opens_socket, provided
from toolstream_core.proxy.gate import Gate, missing
from toolstream_core.proxy.live_response import LiveResponse
from toolstream_core.proxy.own_ids import is_signed
from toolstream_core.proxy.socket_layer import order
from toolstream_core.proxy.sockets.relay import SocketRelay
from toolstream_core.redact import raised_at
from toolstream_core.saved.flow import content_of
from toolstream_core.settings import NOTHING, Settings
from toolstream_core.transit.actions import Ask
from toolstream_core.transit.definitions import Moment
from toolstream_core.wire.frame import Form, joined, parse
from toolstream_core.wire.write import encoded

logger = logging.getLogger(__name__)

DESTREAMED = "streamed by toolstream"
"""The comment of a flow whose response the provider did not stream."""
RESENT = "toolstream_again"
"""Key in the metadata of flows that toolstream itself makes."""


async def resend(flow: http.HTTPFlow, content: bytes, seconds: float, *, path: str = "") -> http.Response:
    """Repeat a flow's request with other content (and path), through mitmproxy's own connection to upstream.

    Raises `TimeoutError` after `seconds`, and `ConnectionError` if no response arrived.
    """
    again = flow.copy()
    again.response = again.error = None
    again.request.content = content
    again.request.path = path or again.request.path
    again.metadata = {RESENT: True}
    handler = ReplayHandler(again, ctx.options)
    try:
        await asyncio.wait_for(handler.replay(), seconds)
    finally:
        for one in handler.transports.values():
            if one.handler is not None:
                one.handler.cancel()
    if again.response is None:
        raise ConnectionError(again.error.msg if again.error else "no answer")
    response: http.Response = again.response
    return response


class Deliveries:
    """The deliveries of the responses in flight."""

    def __init__(
        self,
        closed: Callable[[str], object],
        request_of: Callable[[http.HTTPFlow], Json],
        *,
        always: bool = False,
    ) -> None:
        """`closed` is called with a flow's id when its response has ended.

        `request_of` gives the body of a flow's request.

        With `always` the gate is loaded from the start, and has every connection if faults are switched on later.
        """
        self._closed = closed
        self._request_of = request_of
        self._always = always
        self._settings = NOTHING
        self._speed: float | None = None
        self._deliveries: dict[str, Delivery] = {}
        self._gate: Gate | None = None
        self._reported = False
        self._requests = 0
        self._fetching: dict[str, WireProtocol] = {}
        """Protocols of the responses that will be requested without a stream."""

    def configure(self, settings: Settings, speed: float | None) -> None:
        """Set the settings; `speed` is 0 if saved responses are sent at once, `None` if there are none."""
        self._settings, self._speed = settings, speed
        if ctx.master.addons.get("nextlayer") is not None:  # else `run` does it
            self._install()

    def run(self) -> None:
        """Called when the proxy's own addons are loaded; mitmproxy may have accepted connections before."""
        self._install()

    def has(self, flow: http.HTTPFlow) -> bool:
        """Whether a flow's response can be delayed."""
        return self._gate is not None and self._gate.has(flow)

    def orders(self, relay: SocketRelay) -> bool:
        """Send a socket's messages in the order of its relay. Returns whether that is possible."""
        return self._gate is not None and order(self._gate, relay)

    def refuses(self, flow: http.HTTPFlow) -> bool:
        """Respond with an error, if a fault requires it."""
        if not self._settings.transit:
            return False
        self._requests += 1
        body = self._request_of(flow)
        moment = Moment.UPGRADE if opens_socket(flow.request) else Moment.REQUEST
        opens = moment is Moment.UPGRADE and any(wire.claims(flow.request.path) for wire in SOCKETS)
        if not (opens or looks_like_llm(flow.request.path, body)):
            return False
        exchange = StreamFacts(host=flow.request.pretty_host, path=flow.request.path, request=body)
        error = http_error(self._settings, exchange, self._requests, moment)
        if error is None:
            return False
        protocol = claiming(flow.request.path) or PROTOCOLS[0]
        error_body = protocol.error_body(kind_of(error.status), error.status)
        flow.response = json_response(error.status, error_body, **error.headers)
        note_fault(flow, error.spec)
        return True

    def destreams(self, flow: http.HTTPFlow) -> bool:
        """Respond in place of upstream, which gets the request without a stream. Returns whether that was done."""
        body = self._request_of(flow)
        protocol = claiming(flow.request.path)
        if protocol is None or self._gate is None or not self._gate.has(flow):
            return False
        if not wants_stream(flow.request.path, body) or is_signed(flow.request):
            return False
        binary = protocol.api.form(flow.request.path, body) is Form.MESSAGES
        if binary and protocol.api.stream_form is not Form.MESSAGES:
            return False
        flow.response = http.Response.make(200, b" ", {"content-type": protocol.content_type})
        flow.comment = DESTREAMED
        self._fetching[flow.id] = protocol
        return True

    def begin(self, flow: http.HTTPFlow, live: LiveResponse, faults: Drawn) -> bool:
        """Create a delivery if a response needs one. Returns whether its body comes from the delivery."""
        saved = provided(flow) if self._speed is not None else None
        fetched = self._fetching.pop(flow.id, None)
        wanted = bool(faults or saved is not None or fetched or self._settings.repairs & LIVE)
        if self._gate is None or not wanted or not self._gate.has(flow):
            return False
        asks = MISSING_CALLS.code in self._settings.repairs and live.rewrites and not is_signed(flow.request)
        schedule = Schedule(live.exchange, faults, asks=asks) if faults or asks else None
        live.delivering = True
        self._deliveries[flow.id] = Delivery(
            live,
            schedule,
            saved,
            self._speed or 0.0,
            lambda: self._close(flow.id),
            lambda ask: self._ask(flow, live, ask),
            None if fetched is None else lambda delivery: self._fetch(flow, live, fetched, delivery),
        )
        return saved is not None or fetched is not None

    def provides(self, flow: http.HTTPFlow) -> bool:
        """Whether the chunks of the response are made here."""
        delivery = self._deliveries.get(flow.id)
        return delivery is not None and delivery.provided

    def forget(self, flow: http.HTTPFlow) -> None:
        """Forget an ended response."""
        self._deliveries.pop(flow.id, None)

    async def _ask(self, flow: http.HTTPFlow, live: LiveResponse, ask: Ask) -> bytes:
        """The events to send instead of a finish reason without its calls; that event itself if there are none."""
        before = ask.event.frame.raw
        exchange = live.exchange
        api = ask.protocol.api
        try:
            content = encoded(api.unstreamed(exchange.request))
            path = api.unstreamed_path(flow.request.path)
            source_response = await resend(flow, content, ASKING, path=path)
            complete = replace(
                exchange, content_type="application/json", content_encoding="", status=source_response.status_code
            )
            got = second_request.recovered(ask, complete, content_of(source_response), live.ids)
        except (TimeoutError, ConnectionError, second_request.NothingRecoveredError) as error:
            why = live.hide(_why(error, ASKING))
            logger.warning("toolstream repeated the request of flow %s without success: %s", flow.id, why)
            if live.reader is not None:
                live.reader.add_note(MISSING_CALLS.name, f"the request was repeated without success: {why}")
            return before
        if live.reader is not None:
            live.reader.add_recovered(got.calls)
            frame = ask.event.frame
            live.reader.changed(Change((MISSING_CALLS.name,), frame.number, [frame], got.frames))
        logger.info(
            "toolstream repeated the request of flow %s: %s calls, usage %s", flow.id, len(got.calls), got.usage
        )
        return joined(got.frames)

    async def _fetch(
        self, flow: http.HTTPFlow, live: LiveResponse, protocol: WireProtocol, delivery: Delivery
    ) -> Sequence[Chunk]:
        """The events of an unstreamed response. An error is forwarded as it is, or as an event after the headers."""
        assert flow.response is not None
        request = live.exchange.request
        wanted = encoded(protocol.api.unstreamed(request))
        path = protocol.api.unstreamed_path(flow.request.path)
        try:
            source_response = await resend(flow, wanted, FETCHING, path=path)
        except Exception as error:  # noqa: BLE001 - after any error, the client waits for a response
            if not isinstance(error, TimeoutError | ConnectionError):
                live.failed(error)
            why = live.hide(_why(error, FETCHING))
            logger.warning("toolstream got no unstreamed response for flow %s: %s", flow.id, why)
            source_response = json_response(502, protocol.error_body(kind_of(502), 502))
        sent = flow.request.copy()
        sent.content, sent.path = wanted, path
        live.fetched(source_response, sent)
        content = content_of(source_response)
        events = _events(live, protocol, content)
        if events:
            return [Chunk(0, event) for event in events]
        if source_response.headers.get("content-type", "").startswith("text/event-stream"):
            logger.warning("toolstream asked for an unstreamed response for flow %s, but received a stream", flow.id)
            return [Chunk(0, content)]
        if source_response.status_code < BAD_STATUS:  # an error needs no note
            what = "JSON" if parse(content) is ABSENT else f"a response of {protocol.name}"
            logger.warning("toolstream forwards the response of flow %s unchanged: it is not %s", flow.id, what)
            flow.comment = f"requested without streaming; the response is not {what}"
        if not delivery.heading:
            return [Chunk(0, protocol.error_event(ErrorKind.SERVER))]
        delivery.unread = True
        _respond_as(source_response, flow.response)
        return [Chunk(0, content)]

    def _close(self, flow_id: str) -> None:
        self._deliveries.pop(flow_id, None)
        try:
            self._closed(flow_id)
        except Exception as error:  # noqa: BLE001 - raised inside mitmproxy's layer, it would leave the client waiting
            logger.error("toolstream cannot close flow %s: %s", flow_id, raised_at(error))

    def _install(self) -> None:
        """Load the gate while something needs it."""
        timed = any(one.definition.make is not None for one, _, _ in self._settings.transit)
        needed = self._always or timed or self._speed is not None or self._settings.rewrites
        if needed and self._gate is None:
            lack = missing()
            if lack is None:
                self._gate = Gate(lambda flow: self._deliveries.get(flow.id))
                ctx.master.addons.add(self._gate)
            elif not self._reported:
                self._reported = True
                logger.error(
                    "toolstream: mitmproxy %s has no %s: timing faults and some repairs are off",
                    mitmproxy.version.VERSION,
                    lack,
                )
        elif not needed and self._gate is not None:
            ctx.master.addons.remove(self._gate)
            self._gate = None


def _respond_as(source_response: http.Response, response: http.Response) -> None:
    """Copy the status and headers of upstream's response."""
    response.status_code, response.reason = source_response.status_code, source_response.reason
    for name in ("content-type", "retry-after"):
        if name in source_response.headers:
            response.headers[name] = source_response.headers[name]


def _events(live: LiveResponse, protocol: WireProtocol, content: bytes) -> Sequence[bytes]:
    """A complete response as events; empty if it is forwarded unchanged."""
    try:
        return protocol.streamed(parse(content), live.exchange.request)
    except Exception as error:  # noqa: BLE001 - after any error, the client waits for a response
        live.failed(error)
        return ()


def _why(error: Exception, patience: float) -> str:
    """The reason if no usable response arrived."""
    if isinstance(error, TimeoutError):
        return f"timed out: no data within {patience:g} s"
    expected = isinstance(error, ConnectionError | second_request.NothingRecoveredError)
    return str(error) if expected else f"internal error ({type(error).__name__})"
