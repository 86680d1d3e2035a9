"""A client that speaks HTTP/1.1."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

import h11

from tests.e2e.harness.client import BrokenOffError, Client, Reply, Route
from tests.e2e.harness.http1 import LINGER_NOT

if TYPE_CHECKING:
    from collections.abc import Mapping


class Http1Client(Client):
    """HTTP/1.1, one request at a time. A chunk is an HTTP chunk if the response is chunked."""

    def __init__(self, route: Route) -> None:
        """Connect."""
        super().__init__(route.connect("http/1.1"))
        self.route = route
        self.http = h11.Connection(h11.CLIENT)

    def request(self, path: str, body: bytes, headers: Mapping[str, str], method: str = "POST") -> Http1Reply:
        """Send a request and wait for the response headers."""
        if self.http.their_state is h11.DONE:
            self.http.start_next_cycle()
        absolute = self.route.known and not self.route.tls
        target = f"http://{self.route.authority}{path}" if absolute else path
        fields = {"host": self.route.authority, "content-length": str(len(body)), **headers}
        request = h11.Request(method=method, target=target, headers=list(fields.items()))
        parts = (request, h11.Data(data=body), h11.EndOfMessage())
        self.peer.sendall(b"".join(self.http.send(part) or b"" for part in parts))
        return Http1Reply(self)

    def event(self) -> h11.Event:
        """The next event of h11."""
        try:
            while (event := self.http.next_event()) is h11.NEED_DATA:
                self.http.receive_data(self.peer.recv(65536))
        except (h11.RemoteProtocolError, ConnectionError, ssl.SSLError) as error:
            raise BrokenOffError(str(error)) from error
        assert isinstance(event, h11.Event)
        return event


class Http1Reply(Reply):
    """A response over HTTP/1.1."""

    def __init__(self, client: Http1Client) -> None:
        """Read the headers."""
        self._client = client
        event = client.event()
        assert isinstance(event, h11.Response), event
        self.status = event.status_code
        self.headers = {name.decode(): value.decode() for name, value in event.headers}

    def next_chunk(self) -> bytes:
        """The next HTTP chunk, or the bytes of one read if the body is not chunked."""
        chunk = bytearray()
        while True:
            event = self._client.event()
            if not isinstance(event, h11.Data):
                return bytes(chunk)
            chunk += event.data
            if event.chunk_end or "transfer-encoding" not in self.headers:
                return bytes(chunk)

    def leave(self) -> None:
        """Reset the connection."""
        self._client.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        self._client.close()
