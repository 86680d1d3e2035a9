"""As much HTTP/1.1 as a fast client needs: ask, read a chunked body. Knows sockets, no proxy."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING

from benchlib.streams import TOOL, Digest

if TYPE_CHECKING:
    import socket

    from benchlib.streams import Load

READ = 1 << 18
"""Bytes asked of a socket at once."""

_PARAMETERS = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    "required": ["path", "content"],
}
_ASKED = {
    "model": "gpt-4.1-mini",
    "stream": True,
    "messages": [{"role": "user", "content": "Write the program."}],
    "tools": [{"type": "function", "function": {"name": TOOL, "parameters": _PARAMETERS}}],
}


class WrongBytesError(AssertionError):
    """What came is not what was sent."""


class Session:
    """Takes a chunked HTTP/1.1 response apart as it comes and keeps its digest, not its bytes."""

    def __init__(self) -> None:
        """Start before the status line."""
        self.done = False
        self.events = 0
        """Blank lines so far: events, where nothing else is sent."""
        self._length = self._checksum = 0
        self._rest = b""
        self._in_head = True

    @property
    def digest(self) -> Digest:
        """Of the body so far, without the chunks' framing."""
        return Digest(self._length, self._checksum)

    def feed(self, data: bytes) -> None:
        """Take what came; nothing is wrong with more than the whole, but with an early end."""
        if not data:
            raise WrongBytesError(f"the connection ended after {self.digest}")
        buffer = self._rest + data
        if self._in_head:
            head, _, buffer = buffer.partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200 "):
                raise WrongBytesError(f"no answer of ours: {head[:300]!r}")
            self._in_head = False
        self._take(buffer)

    def _take(self, buffer: bytes) -> None:
        parts = []
        at = 0
        while (line := buffer.find(b"\r\n", at)) >= 0:
            size = int(buffer[at:line], 16)
            end = line + 2 + size
            if len(buffer) < end + 2:
                break
            parts.append(buffer[line + 2 : end])
            at = end + 2
            self.done = size == 0
        self._rest = buffer[at:]
        body = b"".join(parts)
        self.events += body.count(b"\n\n")
        self._length += len(body)
        self._checksum = zlib.crc32(body, self._checksum)


def request(load: Load) -> bytes:
    """What a client of a chat completion sends, and which load it wants."""
    body = json.dumps(_ASKED).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nx-bench: {load.kind}/{load.events}/{load.schedule}\r\n\r\n"
    )
    return head.encode() + body


def read_request(connection: socket.socket) -> bytes:
    """The head of the request that comes next, its body read too."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    _, _, rest = head.lower().partition(b"content-length: ")
    missing = int(rest.partition(b"\r\n")[0]) - len(body)
    while missing > 0:
        missing -= len(_some(connection))
    return head


def _some(connection: socket.socket) -> bytes:
    data = connection.recv(READ)
    if not data:
        raise ConnectionError("the proxy closed the connection")
    return data
