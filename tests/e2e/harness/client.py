"""Clients that tell each piece of an answer as it arrives, on sockets of their own. Know no codings."""

from __future__ import annotations

import contextlib
import socket
import ssl
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import h2.config
import h2.connection
import h2.events
import h11

from tests.e2e.harness.http1 import LINGER_NOT
from tests.e2e.harness.script import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

AUTHORITY = "127.0.0.1"


class BrokenOffError(Exception):
    """The answer ended before its end."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a client reaches an upstream: through a proxy that it knows of, or one that stands in its place."""

    upstream: int
    """The upstream's port."""
    proxy: int
    ca: Path
    tls: bool
    known: bool = True
    """Whether the client knows of the proxy, as in regular mode; else it takes it for the upstream."""

    @property
    def authority(self) -> str:
        """The host that the client wants."""
        return f"{AUTHORITY}:{self.upstream if self.known else self.proxy}"

    def connect(self, *versions: str) -> socket.socket:
        """A connection on which HTTP can be spoken; over TLS `versions` are offered."""
        plain = socket.create_connection((AUTHORITY, self.proxy), PATIENCE)
        if not self.tls:
            return plain
        if self.known:
            _tunnel(plain, self.authority)
        context = ssl.create_default_context(cafile=self.ca)
        context.set_alpn_protocols(versions)
        return context.wrap_socket(plain, server_hostname=AUTHORITY)


class Reply(ABC):
    """An answer whose headers are there and whose body comes piece by piece."""

    status: int
    headers: dict[str, str]

    @abstractmethod
    def piece(self) -> bytes:
        """The next piece, as soon as it arrives; `b""` at the end."""

    @abstractmethod
    def leave(self) -> None:
        """Want no more of it: reset the connection, or over HTTP/2 the stream."""

    def rest(self) -> bytes:
        """All that still comes."""
        return b"".join(iter(self.piece, b""))


class Client(ABC):
    """A connection over which requests are made."""

    def __init__(self, peer: socket.socket) -> None:
        """`peer` is the connection."""
        self.peer = peer

    @abstractmethod
    def request(self, path: str, body: bytes, headers: Mapping[str, str], method: str = "POST") -> Reply:
        """Make a request and wait for the headers of its answer."""

    def close(self) -> None:
        """End the connection."""
        self.peer.close()

    def __enter__(self) -> Self:
        """It is connected already."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close it."""
        self.close()


class Http1Client(Client):
    """HTTP/1.1, one request at a time. A piece is a whole HTTP chunk where the answer is chunked."""

    def __init__(self, way: Way) -> None:
        """Connect."""
        super().__init__(way.connect("http/1.1"))
        self.way = way
        self.http = h11.Connection(h11.CLIENT)

    def request(self, path: str, body: bytes, headers: Mapping[str, str], method: str = "POST") -> Http1Reply:
        """Make a request and wait for the headers of its answer."""
        if self.http.their_state is h11.DONE:
            self.http.start_next_cycle()
        absolute = self.way.known and not self.way.tls
        target = f"http://{self.way.authority}{path}" if absolute else path
        fields = {"host": self.way.authority, "content-length": str(len(body)), **headers}
        request = h11.Request(method=method, target=target, headers=list(fields.items()))
        parts = (request, h11.Data(data=body), h11.EndOfMessage())
        self.peer.sendall(b"".join(self.http.send(part) or b"" for part in parts))
        return Http1Reply(self)

    def event(self) -> h11.Event:
        """The next thing that comes."""
        try:
            while (event := self.http.next_event()) is h11.NEED_DATA:
                self.http.receive_data(self.peer.recv(65536))
        except (h11.RemoteProtocolError, ConnectionError, ssl.SSLError) as error:
            raise BrokenOffError(str(error)) from error
        assert isinstance(event, h11.Event)
        return event


class Http1Reply(Reply):
    """An answer over HTTP/1.1."""

    def __init__(self, client: Http1Client) -> None:
        """Wait for the headers."""
        self._client = client
        event = client.event()
        assert isinstance(event, h11.Response), event
        self.status = event.status_code
        self.headers = {name.decode(): value.decode() for name, value in event.headers}

    def piece(self) -> bytes:
        """A chunk, or what one read brought where the body is not chunked."""
        piece = bytearray()
        while True:
            event = self._client.event()
            if not isinstance(event, h11.Data):
                return bytes(piece)
            piece += event.data
            if event.chunk_end or "transfer-encoding" not in self.headers:
                return bytes(piece)

    def leave(self) -> None:
        """Reset the connection."""
        self._client.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        self._client.close()


class Http2Client(Client):
    """HTTP/2, many requests at once. A piece is a DATA frame."""

    def __init__(self, way: Way) -> None:
        """Connect; there is no HTTP/2 without TLS here."""
        super().__init__(way.connect("h2"))
        assert isinstance(self.peer, ssl.SSLSocket)
        assert self.peer.selected_alpn_protocol() == "h2"
        self.way = way
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        self.http = h2.connection.H2Connection(config)
        self.http.initiate_connection()
        self.replies: dict[int, Http2Reply] = {}

    def request(self, path: str, body: bytes, headers: Mapping[str, str], method: str = "POST") -> Http2Reply:
        """Make a request and wait for the headers of its answer."""
        reply = self.ask(path, body, headers, method)
        reply.wait_for_headers()
        return reply

    def ask(self, path: str, body: bytes, headers: Mapping[str, str], method: str = "POST") -> Http2Reply:
        """Make a request and wait for nothing."""
        number = self.http.get_next_available_stream_id()
        pseudo = {":method": method, ":scheme": "https", ":authority": self.way.authority, ":path": path}
        self.http.send_headers(number, list({**pseudo, **headers}.items()))
        self.http.send_data(number, body, end_stream=True)
        self.flush()
        reply = self.replies[number] = Http2Reply(self, number)
        return reply

    def flush(self) -> None:
        """Write what h2 has for the proxy."""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            self.peer.sendall(self.http.data_to_send())

    def receive(self) -> None:
        """Read once, and give each reply its share."""
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
    """An answer over HTTP/2."""

    def __init__(self, client: Http2Client, number: int) -> None:
        """`number` is the stream's."""
        self.status = 0
        self.headers = {}
        self.broken = ""
        self._client = client
        self._number = number
        self._pieces: list[bytes] = []
        self._ended = False

    def wait_for_headers(self) -> None:
        """Wait until the status is there."""
        while not self.status:
            if self.broken:
                raise BrokenOffError(self.broken)
            self._client.receive()

    def piece(self) -> bytes:
        """A DATA frame."""
        while not self._pieces:
            if self._ended:
                return b""
            if self.broken:
                raise BrokenOffError(self.broken)
            self._client.receive()
        return self._pieces.pop(0)

    def leave(self) -> None:
        """Reset the stream."""
        self._client.http.reset_stream(self._number)
        self._client.flush()

    def take(self, event: h2.events.Event) -> None:
        """What concerns this stream."""
        match event:
            case h2.events.ResponseReceived():
                fields = {str(name): str(value) for name, value in event.headers}
                self.status = int(fields.pop(":status"))
                self.headers = fields
            case h2.events.DataReceived():
                self._client.http.acknowledge_received_data(event.flow_controlled_length, self._number)
                if event.data:
                    self._pieces.append(event.data)
            case h2.events.StreamEnded():
                self._ended = True
            case h2.events.StreamReset():
                self.broken = f"the stream was reset ({event.error_code!r})"


def _tunnel(peer: socket.socket, authority: str) -> None:
    peer.sendall(f"CONNECT {authority} HTTP/1.1\r\nhost: {authority}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        # Byte by byte, because what follows the head belongs to TLS.
        byte = peer.recv(1)
        assert byte, head
        head += byte
    assert head.startswith(b"HTTP/1.1 200"), head
