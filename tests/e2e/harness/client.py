"""HTTP clients and their route to an upstream: they return each chunk of a response as it arrives, still encoded."""

from __future__ import annotations

import socket
import ssl
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from tests.e2e.harness.script import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

AUTHORITY = "127.0.0.1"


class BrokenOffError(Exception):
    """The connection or stream ended inside the response."""


@dataclass(frozen=True, slots=True)
class Route:
    """The route of a client to an upstream: through a configured proxy, or through a reverse proxy."""

    upstream: int
    """The upstream's port."""
    proxy: int
    ca: Path
    tls: bool
    known: bool = True
    """Whether the client knows that it uses a proxy, as in regular mode. In reverse mode it does not."""

    @property
    def authority(self) -> str:
        """The host and port that the client requests."""
        return f"{AUTHORITY}:{self.upstream if self.known else self.proxy}"

    def connect(self, *versions: str) -> socket.socket:
        """Open a connection that is ready for HTTP. Over TLS, ALPN offers `versions`."""
        plain = socket.create_connection((AUTHORITY, self.proxy), PATIENCE)
        if not self.tls:
            return plain
        if self.known:
            _tunnel(plain, self.authority)
        context = ssl.create_default_context(cafile=self.ca)
        context.set_alpn_protocols(versions)
        return context.wrap_socket(plain, server_hostname=AUTHORITY)


class Reply(ABC):
    """A response whose headers have arrived, and whose body arrives in chunks."""

    status: int
    headers: dict[str, str]

    @abstractmethod
    def next_chunk(self) -> bytes:
        """The next chunk, as soon as it arrives; `b""` at the end."""

    @abstractmethod
    def leave(self) -> None:
        """Cancel the request: reset the connection, or over HTTP/2 the stream."""

    def rest(self) -> bytes:
        """The rest of the body."""
        return b"".join(iter(self.next_chunk, b""))


class Client(ABC):
    """A connection for requests."""

    def __init__(self, peer: socket.socket) -> None:
        """`peer` is the connected socket."""
        self.peer = peer

    @abstractmethod
    def request(self, path: str, body: bytes, headers: Mapping[str, str], method: str = "POST") -> Reply:
        """Send a request and wait for the response headers."""

    def close(self) -> None:
        """End the connection."""
        self.peer.close()

    def __enter__(self) -> Self:
        """The client is already connected."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close it."""
        self.close()


def _tunnel(peer: socket.socket, authority: str) -> None:
    peer.sendall(f"CONNECT {authority} HTTP/1.1\r\nhost: {authority}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        # Byte by byte, because the bytes after the head belong to TLS.
        byte = peer.recv(1)
        assert byte, head
        head += byte
    assert head.startswith(b"HTTP/1.1 200"), head
