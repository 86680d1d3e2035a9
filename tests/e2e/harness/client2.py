"""A client that speaks HTTP/2."""

from __future__ import annotations

import contextlib
import ssl
from typing import TYPE_CHECKING

import h2.config
import h2.connection
import h2.events

from tests.e2e.harness.client import BrokenOffError, Client, Reply, Route

if TYPE_CHECKING:
    from collections.abc import Mapping


class Http2Client(Client):
    """HTTP/2 with concurrent requests. A chunk is a DATA frame."""

    def __init__(self, route: Route) -> None:
        """Connect over TLS."""
        super().__init__(route.connect("h2"))
        assert isinstance(self.peer, ssl.SSLSocket)
        assert self.peer.selected_alpn_protocol() == "h2"
        self.route = route
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        self.http = h2.connection.H2Connection(config)
        self.http.initiate_connection()
        self.replies: dict[int, Http2Reply] = {}

    def request(self, path: str, body: bytes, headers: Mapping[str, str], method: str = "POST") -> Http2Reply:
        """Send a request and wait for the response headers."""
        reply = self.send_request(path, body, headers, method)
        reply.wait_for_headers()
        return reply

    def send_request(self, path: str, body: bytes, headers: Mapping[str, str], method: str = "POST") -> Http2Reply:
        """Send a request without waiting for its response."""
        number = self.http.get_next_available_stream_id()
        pseudo = {":method": method, ":scheme": "https", ":authority": self.route.authority, ":path": path}
        self.http.send_headers(number, list({**pseudo, **headers}.items()))
        self.http.send_data(number, body, end_stream=True)
        self.flush()
        reply = self.replies[number] = Http2Reply(self, number)
        return reply

    def flush(self) -> None:
        """Write the pending data of h2 to the proxy."""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            self.peer.sendall(self.http.data_to_send())

    def receive(self) -> None:
        """Read once, and hand each event to the reply of its stream."""
        try:
            data = self.peer.recv(65536)
        except (ConnectionError, ssl.SSLError):
            data = b""
        if not data:
            for reply in self.replies.values():
                reply.broken = reply.broken or "the connection was closed"
        for event in self.http.receive_data(data) if data else ():
            number = getattr(event, "stream_id", None)
            if number in self.replies:
                self.replies[number].take(event)
        self.flush()


class Http2Reply(Reply):
    """A response over HTTP/2."""

    def __init__(self, client: Http2Client, number: int) -> None:
        """`number` is the stream id."""
        self.status = 0
        self.headers = {}
        self.broken = ""
        self._client = client
        self._number = number
        self._chunks: list[bytes] = []
        self._ended = False

    def wait_for_headers(self) -> None:
        """Wait until the status has arrived."""
        while not self.status:
            if self.broken:
                raise BrokenOffError(self.broken)
            self._client.receive()

    def next_chunk(self) -> bytes:
        """The data of the next DATA frame."""
        while not self._chunks:
            if self._ended:
                return b""
            if self.broken:
                raise BrokenOffError(self.broken)
            self._client.receive()
        return self._chunks.pop(0)

    def leave(self) -> None:
        """Reset the stream."""
        self._client.http.reset_stream(self._number)
        self._client.flush()

    def take(self, event: h2.events.Event) -> None:
        """Apply an event of this stream."""
        match event:
            case h2.events.ResponseReceived():
                fields = {str(name): str(value) for name, value in event.headers}
                self.status = int(fields.pop(":status"))
                self.headers = fields
            case h2.events.DataReceived():
                self._client.http.acknowledge_received_data(event.flow_controlled_length, self._number)
                if event.data:
                    self._chunks.append(event.data)
            case h2.events.StreamEnded():
                self._ended = True
            case h2.events.StreamReset():
                self.broken = f"the stream was reset ({event.error_code!r})"
