"""Time inside mitmproxy: one stream waits, breaks, or ends differently, while all others continue.

Uses mitmproxy's layers, which are no stable interface, as `socket_layer` does for WebSockets. `missing` names the first
part that this version lacks.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Final, cast
from weakref import WeakSet

from mitmproxy import ctx, flow, http
from mitmproxy.connection import Connection
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers.http import DropStream, HttpLayer, HttpStream, SendHttp, _events
from mitmproxy.proxy.layers.http._hooks import HttpErrorHook, HttpResponseHook

from toolstream_core.proxy.delivery import Delivery
from toolstream_core.transit.actions import BreakKind, Cut, Wait

type Commands = Generator[commands.Command, Any, None]


def reset_soon(flow: http.HTTPFlow) -> None:
    """End the client's TCP connection with a reset, if it has its own socket."""
    writer = None if flow.request.is_http2 else _writer(flow, flow.client_conn)
    taken = writer.get_extra_info("socket") if writer is not None else None
    if taken is not None:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def close_surely(flow: http.HTTPFlow) -> None:
    """Close the client's connection once more.

    mitmproxy closes by cancelling the task that reads from the client. If that task is about to pass on the
    client's latest bytes (an HTTP/2 acknowledgement), it ends without closing the socket, and the client keeps waiting.
    """
    writer = _writer(flow, flow.client_conn)
    if writer is not None:
        writer.close()


def read_upstream(flow: http.HTTPFlow, *, on: bool) -> None:
    """Pause or resume reading from the flow's upstream. asyncio may resume by itself: pause again with each event."""
    writer = _writer(flow, flow.server_conn)
    if writer is not None and not writer.transport.is_closing():
        (writer.transport.resume_reading if on else writer.transport.pause_reading)()


def _writer(flow: http.HTTPFlow, connection: Connection) -> Any:
    """The writer of the flow's client or upstream; `None` if it is not found."""
    for handler in ctx.master.addons.get("proxyserver").connections.values():
        if handler.client is flow.client_conn and connection in handler.transports:
            return handler.transports[connection].writer
    return None


# `flow.response.stream` is a plain function: a sleep in it stops the whole proxy, and nothing can be sent later.
# mitmproxy itself waits for addons only with a hook that a layer yields: only that layer is paused until every addon
# has handled the hook. So streams with a delivery are run by a subclass of mitmproxy's `HttpStream` that yields its own
# hook whenever the delivery waits.


MOST_WAITING: Final = 1024 * 1024
"""Maximum bytes of a response that wait in the proxy. With more, upstream's connection is not read."""
MOST_SHARED: Final = 16 * MOST_WAITING
"""The same if streams share upstream's connection, which must be read: the response then ends with an error."""
_EVENT: Final = 256
"""Approximate bytes of an event in memory, without its data."""
_PREFACE: Final = b"PRI * HTTP/2.0\r\n"
"""The first bytes of a client that sends HTTP/2 without TLS and without an upgrade, like AWS's SDK for JavaScript."""
SHORT = 0.2
"""Maximum seconds that a stream sleeps with a timer; until then, it does not notice a disconnect of its client."""


@dataclass
class ToolstreamGateHook(commands.StartHook):
    """A stream waits. mitmproxy hangs on hooks with other arguments than one flow."""

    flow: http.HTTPFlow


class Sleep(commands.RequestWakeup):
    """A stream waits for a known time: the layer is paused, as for a hook, without addons."""

    blocking = True


class GatedStream(HttpStream):
    """One request and its response, which is sent through its delivery if it has one."""

    gate: Gate
    _delivery: Delivery | None = None
    _paced = False
    _over = False
    _waiting = 0
    """Bytes from upstream that are not handled yet."""
    _held = False
    """Whether upstream is not read."""

    def _handle_paced(self, event: events.Event) -> Commands:
        """As `handle_event`. A disconnect of the client ends the waiting, and upstream waits with its client."""
        if self._delivery is not None and isinstance(event, _events.RequestProtocolError):
            self._delivery.left()
        elif isinstance(event, _events.ResponseData):
            self._arrived(event)
        elif isinstance(event, events.Wakeup):
            # A paused layer gets the reply that it waited for, and a timer has none.
            event.reply = None
        return super().handle_event(event)

    def _arrived(self, event: _events.ResponseData) -> None:
        """Count the waiting bytes, and stop reading upstream if there are too many."""
        self._waiting += len(event.data) + _EVENT
        if self._waiting <= MOST_WAITING:
            return
        if self.flow.server_conn.transport_protocol == "tcp" and self.flow.server_conn.alpn != b"h2":
            self._held = True
            read_upstream(self.flow, on=False)
        elif self._waiting > MOST_SHARED and self._delivery is not None:
            self._delivery.overflow()

    def _handled(self, event: _events.ResponseData) -> None:
        """Count the handled bytes, and read upstream again if few wait."""
        self._waiting -= len(event.data) + _EVENT
        if self._held and self._waiting <= MOST_WAITING // 2:
            self._held = False
            read_upstream(self.flow, on=True)

    def _take_delivery(self, delivery: Delivery | None) -> None:
        """Use a delivery; it has a cost for each chunk only if it decides on each."""
        self._delivery = delivery
        self._paced = delivery is not None and delivery.paced
        if self._paced:
            self.handle_event = self._handle_paced  # type: ignore[method-assign]

    def start_response_stream(self) -> Commands:
        """As in mitmproxy, with the delivery of the flow."""
        self._take_delivery(self.gate.delivery(self.flow))
        inner: Commands = super().start_response_stream()
        return self._delivered(inner, self._delivery) if self._delivery is not None and self._paced else inner

    def state_stream_response_body(self, event: events.Event) -> Commands:
        """As in mitmproxy, through the delivery."""
        if self._paced and isinstance(event, _events.ResponseData):
            self._handled(event)
        inner: Commands = HttpStream.state_stream_response_body(self, event)
        if not self._paced and (self._delivery is None or type(event) is not _events.ResponseEndOfMessage):
            return inner
        assert self._delivery is not None
        return self._delivered(inner, self._delivery)

    def send_response(self, already_streamed: bool = False) -> Commands:  # noqa: FBT001, FBT002 - mitmproxy's form
        """As in mitmproxy; a response made by an addon is sent through its delivery too."""
        inner: Commands = super().send_response(already_streamed)
        if already_streamed:
            return inner
        self._take_delivery(self.gate.delivery(self.flow))
        return inner if self._delivery is None else self._delivered(inner, self._delivery)

    def handle_protocol_error(self, event: _events.RequestProtocolError | _events.ResponseProtocolError) -> Commands:
        """As in mitmproxy, unless the response was complete when upstream's connection broke."""
        streaming = self.server_state == self.state_stream_response_body
        broken = isinstance(event, _events.ResponseProtocolError) and streaming
        if broken and self._delivery is not None and self._delivery.forgives(event.message):
            return self.state_stream_response_body(_events.ResponseEndOfMessage(self.stream_id))
        inner: Commands = super().handle_protocol_error(event)
        return inner

    def _delivered(self, inner: Commands, delivery: Delivery) -> Commands:
        """Send to the client step by step."""
        reply: object = None
        while True:
            try:
                command = inner.send(reply)
            except StopIteration:
                return
            reply = None
            event = command.event if isinstance(command, SendHttp) else None
            if isinstance(event, _events.ResponseData):
                delivery.offer(event.data)
            elif isinstance(event, _events.ResponseHeaders):
                delivery.offer_headers()
            elif isinstance(command, HttpResponseHook | DropStream) and not self._over and self._ends(command):
                self._over = True
                delivery.offer(None)
            else:
                reply = yield command
                continue
            if not (yield from self._steps(delivery)):
                inner.close()
                return
            if not isinstance(event, _events.ResponseData):
                reply = yield command

    def _ends(self, command: commands.Command) -> bool:
        """Whether the body's end is due before `command`: the response hook of a stream, the last command otherwise."""
        streamed = bool(self.server_state == self.state_stream_response_body)
        return streamed == isinstance(command, HttpResponseHook)

    def _steps(self, delivery: Delivery) -> Generator[commands.Command, Any, bool]:
        """Run the steps of the delivery. Returns whether the stream continues."""
        while True:
            while isinstance(step := delivery.next(), Wait):
                yield ToolstreamGateHook(self.flow) if step.seconds > SHORT else Sleep(step.seconds)
            if step is None:
                return True
            if isinstance(step, bytes):
                yield SendHttp(_events.ResponseData(self.stream_id, step), self.context.client)
            elif isinstance(step, Cut):
                yield from self._break(step)
                return False
            else:
                if self._held:
                    read_upstream(self.flow, on=True)
                yield from self._leave_upstream("the response was ended")
                yield from super().send_response(already_streamed=True)
                return False

    def _break(self, step: Cut) -> Commands:
        """Break the client's connection, or its stream, and notify addons and upstream."""
        if self._held:
            read_upstream(self.flow, on=True)
        self.flow.error = flow.Error(step.why)
        yield HttpErrorHook(self.flow)
        if step.how is BreakKind.RESET or self.flow.request.is_http10:  # HTTP/1.0 has no other end than a connection's
            reset_soon(self.flow)
        if step.how is BreakKind.CLOSE and self.flow.request.is_http2:
            yield commands.CloseConnection(self.context.client)
        else:
            gone = _events.ResponseProtocolError(self.stream_id, step.why, _events.ErrorCode.KILL)
            yield SendHttp(gone, self.context.client)
        if step.how is BreakKind.CLOSE or not self.flow.request.is_http2:
            close_surely(self.flow)
        yield from self._leave_upstream(step.why)
        self.flow.live = False
        self.client_state = self.server_state = self.state_errored

    def _leave_upstream(self, why: str) -> Commands:
        """Upstream need not send the rest."""
        if self.server_state == self.state_stream_response_body:
            gone = _events.RequestProtocolError(self.stream_id, why, _events.ErrorCode.CANCEL)
            yield SendHttp(gone, self.context.server)


class GatedLayer(HttpLayer):
    """An HTTP connection whose streams can have deliveries."""

    gate: Gate

    def make_stream(self, stream_id: int) -> Commands:
        """As in mitmproxy, with `GatedStream`."""
        stream = GatedStream(self.context.fork(), stream_id)
        stream.gate = self.gate
        self.gate.streams.add(stream)
        self.streams[stream_id] = stream
        yield from self.event_to_child(stream, events.Start())


class Gate:
    """The addon that makes HTTP layers gated; loaded only while it is needed."""

    name = "toolstream-gate"

    def __init__(self, delivery: Callable[[http.HTTPFlow], Delivery | None]) -> None:
        """`delivery` returns the delivery of a flow whose response is about to be sent."""
        self.delivery = delivery
        self.streams: WeakSet[GatedStream] = WeakSet()

    def has(self, flow: http.HTTPFlow) -> bool:
        """Whether the flow passes the gate: a connection that began before the gate was loaded does not."""
        return any(getattr(stream, "flow", None) is flow for stream in self.streams)

    def next_layer(self, nextlayer: layer.NextLayer) -> None:
        """Let mitmproxy decide, then replace the layer by a gated one."""
        if nextlayer.data_client().startswith(_PREFACE):
            nextlayer.context.client.alpn = b"h2"
        ctx.master.addons.get("nextlayer").next_layer(nextlayer)
        for one in nextlayer.context.layers:
            if type(one) is HttpLayer:
                one.__class__ = GatedLayer
                cast("GatedLayer", one).gate = self

    async def toolstream_gate(self, flow: http.HTTPFlow) -> None:
        """Wait as long as the flow's delivery does."""
        delivery = self.delivery(flow)
        if delivery is not None:
            await delivery.wait()


def missing() -> str | None:
    """The first required name that this version of mitmproxy lacks; `None` if it has all."""
    wanted = {
        HttpStream: ("state_stream_response_body", "send_response", "start_response_stream", "handle_protocol_error"),
        HttpLayer: ("make_stream", "event_to_child"),
    }
    for owner, names in wanted.items():
        for name in names:
            if not callable(getattr(owner, name, None)):
                return f"{owner.__name__}.{name}"
    if ctx.master.addons.get("nextlayer") is None:
        return "the addon nextlayer"
    return None
