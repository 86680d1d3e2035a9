"""WebSocket layers that may replace each message by none, one or several, with delays.

Uses mitmproxy's internals, as `gate` does. `inject.websocket` would send after all messages of the same read.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Final, cast

from mitmproxy.connection import Connection
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers.websocket import WebsocketConnection, WebsocketEndHook, WebsocketLayer, WebsocketMessageHook
from mitmproxy.websocket import WebSocketMessage
from wsproto.connection import ConnectionState
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, TextMessage
from wsproto.frame_protocol import Opcode

from toolstream_core.proxy.gate import Gate, read_upstream, reset_soon
from toolstream_core.proxy.sockets.relay import Outgoing, SocketRelay
from toolstream_core.transit.actions import BreakKind, Cut
from toolstream_core.transit.faults import NO_CLOSE_FRAME

type Commands = Generator[commands.Command, Any, None]

_GOING_AWAY = 1001
MOST_WAITING: Final = 16 * 1024 * 1024
"""Maximum bytes of messages that wait for a fault. With more, upstream is not read.

More than over HTTP: pings, and the other responses of the socket, wait too.
"""


class RelayedSocket(WebsocketLayer):
    """A socket whose relay selects the messages to send."""

    relay: SocketRelay
    _wakes: int = 0
    _closing: bool = False
    _arrived: int = 0
    """Bytes from upstream that are not handled yet."""
    _held: bool = False
    """Whether upstream is not read."""

    def handle_event(self, event: events.Event) -> Commands:
        """As in mitmproxy; upstream waits if too many bytes wait here."""
        if isinstance(event, events.DataReceived) and event.connection is self.context.server:
            self._arrived += len(event.data)
            self._hold_upstream()
        yield from super().handle_event(event)

    def relay_messages(self, event: events.Event) -> Commands:
        """As in mitmproxy, and after each message its replacement, also while the socket is being closed."""
        if isinstance(event, events.Wakeup):
            self._wakes -= 1
            self._guarded(self.relay.advance)
            yield from self._deliver()
            return
        if isinstance(event, events.DataReceived) and event.connection is self.context.server:
            self._arrived -= len(event.data)
        inner: Commands = super().relay_messages(event)
        reply: object = None
        while True:
            try:
                command = inner.send(reply)
            except StopIteration:
                return
            if not self._closing and self.flow.websocket is not None and self.flow.websocket.timestamp_end is not None:
                self._closing = True
                self._guarded(self.relay.close)
                yield from self._deliver()
            if not self._is_executed(command):
                reply = None
                continue
            reply = yield command
            if isinstance(command, WebsocketMessageHook):
                yield from self._deliver()
                if self.relay.broken is not None:
                    inner.close()
                    return

    def _guarded(self, act: Callable[[], None]) -> None:
        """Let the relay act; after an internal error, messages are forwarded unchanged."""
        try:
            act()
        except Exception:  # noqa: BLE001 - raised inside mitmproxy's layer, it would stop the socket
            self.relay.failed()

    def _is_executed(self, command: commands.Command | None) -> bool:
        """Whether a command is executed: there may be no provider to send to."""
        if command is None:
            return False
        to = command.connection if isinstance(command, commands.ConnectionCommand) else None
        return not (self.relay.served and to is self.context.server)

    def done(self, event: events.Event) -> Commands:
        """As in mitmproxy; a timer may still fire."""
        if not isinstance(event, events.Wakeup):
            yield from super().done(event)

    def _deliver(self) -> Commands:
        """Send the messages that are due, and set a timer for the rest."""
        relay = self.relay
        self._hold_upstream()
        outgoing, relay.outgoing = relay.outgoing, []
        for one in outgoing:
            ws = self.client_ws if one.to_client else self.server_ws
            if ws.state is ConnectionState.OPEN:
                message = BytesMessage(one.data) if one.binary else TextMessage(one.data.decode("utf-8", "replace"))
                yield ws.send2(message)
                self._keep(one)
        if relay.broken is not None:
            yield from self._break(relay.broken)
        elif not self._wakes and (pause := relay.pause) is not None:
            self._wakes += 1
            yield commands.RequestWakeup(pause)

    def _hold_upstream(self) -> None:
        """Read upstream only while few bytes wait."""
        held = self._arrived + self.relay.waiting > (MOST_WAITING // 2 if self._held else MOST_WAITING)
        if held or self._held:
            read_upstream(self.flow, on=not held)
        self._held = held

    def _keep(self, sent: Outgoing) -> None:
        """Keep a message with the received ones, if they are kept."""
        assert self.flow.websocket is not None
        if self.relay.kept:
            kind = Opcode.BINARY if sent.binary else Opcode.TEXT
            self.flow.websocket.messages.append(
                WebSocketMessage(kind, not sent.to_client, sent.data, injected=sent.injected)
            )

    def _break(self, step: Cut) -> Commands:
        """Break the client's connection as the fault requires, and close upstream's."""
        assert self.flow.websocket is not None
        code = step.code or NO_CLOSE_FRAME
        self.flow.websocket.closed_by_client = False
        self.flow.websocket.close_code, self.flow.websocket.close_reason = code, step.why
        if step.how is BreakKind.RESET:
            reset_soon(self.flow)
        elif step.code is not None and self.client_ws.state is ConnectionState.OPEN:
            yield self.client_ws.send2(CloseConnection(code))
        yield commands.CloseConnection(self.context.client)
        if self.server_ws.state is ConnectionState.OPEN:
            yield self.server_ws.send2(CloseConnection(_GOING_AWAY))
        if not self.relay.served:
            yield commands.CloseConnection(self.context.server)
        yield WebsocketEndHook(self.flow)
        self.flow.live = False
        self._handle_event = self.done


class ServedSocket(RelayedSocket):
    """One socket without a provider: the greeting is sent as soon as it is open."""

    _greeted: bool = False

    def handle_event(self, event: events.Event) -> Commands:
        """As in mitmproxy, and after the end of the hook the greeting."""
        yield from super().handle_event(event)
        if not self._greeted and self._handle_event == self.relay_messages:
            self._greeted = True
            yield from self._deliver()


class NoServer:
    """Replaces the connection to a provider if there is none: pings get their pongs here."""

    state: Final = ConnectionState.CLOSED

    def __init__(self, client: WebsocketConnection, conn: Connection) -> None:
        """`conn` is the connection that was never opened."""
        self.conn = conn
        self._client = client

    def send2(self, event: Event) -> commands.SendData | None:
        """Nothing is forwarded; the response to a ping is sent to the client."""
        return self._client.send2(event.response()) if isinstance(event, Ping) else None


def order(gate: Gate, relay: SocketRelay) -> bool:
    """Let the relay of a new socket decide on its messages. Returns whether that is possible."""
    child = next((one.child_layer for one in gate.streams if one.flow is relay.flow), None)
    if type(child) is not WebsocketLayer:
        return False
    child.__class__ = ServedSocket if relay.served else RelayedSocket
    cast("RelayedSocket", child).relay = relay
    if relay.served:
        child.server_ws = cast("WebsocketConnection", NoServer(child.client_ws, child.context.server))
    return True
