"""How clients reach an upstream, and what they tell: each piece of an answer as it arrives, still coded."""

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
    """The answer ended before its end."""


@dataclass(frozen=True, slots=True)
class Edit:
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


def _tunnel(peer: socket.socket, authority: str) -> None:
    peer.sendall(f"CONNECT {authority} HTTP/1.1\r\nhost: {authority}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        # Byte by byte, because what follows the head belongs to TLS.
        byte = peer.recv(1)
        assert byte, head
        head += byte
    assert head.startswith(b"HTTP/1.1 200"), head
