"""One socket of an LLM: its messages are split into responses. Knows mitmproxy's flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mitmproxy import http
from mitmproxy.websocket import WebSocketMessage

from toolstream_core.model import Json
from toolstream_core.protocols.socket_wire import SocketHost, SocketRequest, SocketWire
from toolstream_core.proxy.sockets.response import SocketResponse
from toolstream_core.sockets.lanes import Lanes
from toolstream_core.sockets.saved import NORMAL, SavedMessage, is_short, keep
from toolstream_core.transit.actions import Cut
from toolstream_core.wire.frame import parse
from toolstream_core.wire.write import encoded


class Outgoing(NamedTuple):
    """A message in place of a received one."""

    data: bytes
    to_client: bool
    binary: bool
    """Whether it is a binary message, not text."""
    injected: bool = True
    """Whether it replaces an injected message."""


class SocketRelay:
    """Receives each message, and returns the messages to send instead."""

    def __init__(
        self,
        flow: http.HTTPFlow,
        wire: SocketWire,
        host: SocketHost | None,
        begin: Callable[[SocketRequest], SocketResponse | None],
        restore: Callable[[bytes], bytes],
        closed: Callable[[SocketResponse], None],
        strayed: Callable[[str], None],
        failed: Callable[[], None],
    ) -> None:
        """`host` is the server, if there is no provider.

        `begin` makes a response, unless the provider is still to begin it.
        `restore` gives a client's message the provider's own ids; `strayed` receives errors that belong to no response.
        `closed` is called with each response of which nothing more is sent, `failed` after an internal error.
        """
        self.flow = flow
        self.wire = wire
        self.ordered = False
        """Whether a layer sends the messages of `outgoing`, in order; else messages are forwarded unchanged."""
        self.served = host is not None
        """Whether it has no provider: its client's requests get their responses here."""
        self.kept = False
        """Whether the flow keeps its messages, and their replacements."""
        self.begun = 0
        """The number of responses so far."""
        self.outgoing: list[Outgoing] = []
        self.broken: Cut | None = None
        self._lanes = Lanes(wire, wire.talk(flow.request.path) if host is None else host, self._begun)
        self._host = host
        self._begin = begin
        self._restore = restore
        self._closed = closed
        self._strayed = strayed
        self.failed = failed
        self._going: dict[str, list[SocketResponse]] = {}
        """Responses that are not completely sent yet, by lane, in order."""

    def take(self, message: WebSocketMessage) -> None:
        """Receive the next message of either side."""
        binary = not message.is_text
        if message.from_client:
            self._on_request(message, binary=binary)
            if self.served:
                self.advance()
            return
        part = self._lanes.read_event(message.content)
        if part is None:
            if (error := self.wire.stray_error(message.content)) is not None:
                self._strayed(error)
            return
        if part.unended is not None:
            self._send(part.unended.end(), part.unended)
            self.advance()
        response = part.response
        response.binary = binary
        made = response.take(message.content)
        if made is not None:
            self._replace(message, made, response)
        if part.ends and not response.over and (last := response.end()):
            self._replace(message, last if message.dropped else [message.content, *last], response)
        if response.over:
            self._forget(response)
        elif response.timed:
            self.advance()

    def _replace(self, message: WebSocketMessage, made: list[bytes], response: SocketResponse) -> None:
        """Send the replacement of a provider's message."""
        if self.ordered:
            self._send(made, response)
            message.drop()

    def advance(self) -> None:
        """Send the messages that are due."""
        for waiting in list(self._going.values()):
            while waiting and self.broken is None:
                response = waiting[0]
                made, self.broken = response.advance()
                self._send(made, response)
                if not response.over:
                    break
                self._forget(response)

    @property
    def pause(self) -> float | None:
        """Seconds until the next timed action; `None` if there is none."""
        pauses = [pause for one in self._going.values() if one and (pause := one[0].pause) is not None]
        return min(pauses, default=None)

    @property
    def waiting(self) -> int:
        """Bytes of the provider's messages that wait to be sent."""
        return sum(one.waiting for waiting in self._going.values() for one in waiting)

    def close(self) -> None:
        """Close the socket. If the provider closes it normally, its response has ended."""
        websocket = self.flow.websocket
        if websocket is None or websocket.closed_by_client or websocket.close_code != NORMAL:
            return
        for response in self._lanes.close():
            self._send(response.end(), response)
        self.advance()

    def release(self, why: str) -> None:
        """After an internal error: stop reading, and send all received messages that were not sent."""
        for response in [one for waiting in self._going.values() for one in waiting]:
            self._send(response.release(why), response)

    def end(self, broken: str) -> None:
        """End the socket; `broken`: the error, unless a fault caused it."""
        broken = broken if self.broken is None else self.broken.why
        left = {id(one): one for one in self._lanes.close()}
        left.update((id(one), one) for waiting in self._going.values() for one in waiting)
        self._going.clear()
        for response in left.values():
            if not response.over:
                response.end(broken)
            self._closed(response)

    def _on_request(self, message: WebSocketMessage, *, binary: bool) -> None:
        restored = self._restore(message.content)
        response = self._lanes.read_request(message.content)
        if response is not None and response.error is not None:
            self._response(response, response.error)
            message.drop()
            return
        if restored != message.content and self.ordered and not self.served:
            self.outgoing.append(Outgoing(restored, to_client=False, binary=binary))
            message.drop()
        if response is not None:
            response.binary = binary
            return
        if is_short(message.content) and (concerned := self._lanes.concerned(message.content)) is not None:
            keep(concerned.others, SavedMessage(from_client=True, at=message.timestamp, data=message.content))
        if self._host is not None and not self.wire.is_media(message.content):
            self._reply(self._host, parse(message.content), binary=binary)

    def say(self, messages: Sequence[Json], *, binary: bool) -> None:
        """Send a message to the client that is not part of a response."""
        self.outgoing += [Outgoing(encoded(one), to_client=True, binary=binary, injected=False) for one in messages]

    def _reply(self, host: SocketHost, message: Json, *, binary: bool) -> None:
        """Reply to a client's message that does not request a response."""
        reply = host.replied(message, self._going)
        self.say(reply.messages, binary=binary)
        if reply.cancelled is not None:
            self._going[reply.cancelled][0].cancel(encoded(reply.last))

    def _begun(self, request: SocketRequest) -> SocketResponse | None:
        response = self._begin(request)
        if response is not None and response.error is None:
            self._going.setdefault(response.lane, []).append(response)
        return response

    def _response(self, response: SocketResponse, error: bytes) -> None:
        """Respond with an error, without a request to the provider."""
        self._lanes.withdraw(response)
        made = response.only(error)
        self.outgoing += [Outgoing(one, to_client=True, binary=response.binary, injected=False) for one in made]
        self._closed(response)

    def _send(self, messages: list[bytes], response: SocketResponse) -> None:
        injected = not self.served
        for one in messages:
            self.outgoing.append(Outgoing(one, to_client=True, binary=response.binary, injected=injected))
            if self._host is not None:
                self.say(self._host.sent(response.lane, one), binary=response.binary)

    def _forget(self, response: SocketResponse) -> None:
        """Close an ended response."""
        waiting = self._going.get(response.lane, [])
        if response in waiting:
            waiting.remove(response)
            if not waiting:
                self._going.pop(response.lane, None)
            if self._host is not None:
                self._lanes.withdraw(response)
                self._host.response_ended(response.lane)
            self._closed(response)
