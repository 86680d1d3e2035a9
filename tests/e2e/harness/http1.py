"""The upstream's side of an HTTP/1.1 connection: each piece is one chunk, written at once."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING

import h11

from tests.e2e.harness.plan import RequestKey, StageSet, perform, unplanned
from tests.e2e.harness.script import Answer, Break, Framing

if TYPE_CHECKING:
    from collections.abc import Mapping

LINGER_NOT = struct.pack("ii", 1, 0)


class Http1:
    """One connection. Requests come one after another; h11 reads them, the answers are written by hand."""

    def __init__(self, transport: asyncio.Transport, plans: Mapping[str, StageSet]) -> None:
        """Wait for the first request."""
        self._transport = transport
        self._plans = plans
        self._reader = h11.Connection(h11.SERVER)
        self._request: h11.Request | None = None
        self._body = bytearray()
        self._task: asyncio.Task[None] | None = None
        self._plan: StageSet | None = None
        self._left = False
        self._framing = Framing.CHUNKED

    def receive(self, data: bytes) -> None:
        """Read what came; a whole request is answered."""
        self._reader.receive_data(data)
        while True:
            event = self._reader.next_event()
            match event:
                case h11.Request():
                    self._request = event
                case h11.Data():
                    self._body += event.data
                case h11.EndOfMessage():
                    self._response()
                    return
                case _:
                    return

    def lost(self) -> None:
        """The connection is closed."""
        self._left = True
        if self._task is not None and self._plan is not None:
            self._plan.gone.open()
            self._task.cancel()

    def head(self, response: Answer) -> None:
        """Status line and headers in one write."""
        self._framing = response.framing
        fields = list(response.fields)
        match response.framing:
            case Framing.CHUNKED:
                fields.append(("transfer-encoding", "chunked"))
            case Framing.LENGTH:
                fields.append(("content-length", str(response.length)))
            case Framing.CLOSE:
                fields.append(("connection", "close"))
        lines = [f"HTTP/1.1 {response.status} Answer", *(f"{name}: {value}" for name, value in fields), "", ""]
        self._transport.write("\r\n".join(lines).encode())

    async def send(self, data: bytes) -> None:
        """One chunk, or the bare bytes where the body is not chunked."""
        if data and self._framing is Framing.CHUNKED:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        self._transport.write(data)

    def end(self) -> None:
        """The last chunk, or the end of the connection."""
        if self._framing is Framing.CHUNKED:
            self._transport.write(b"0\r\n\r\n")
        if self._framing is Framing.CLOSE:
            self._transport.close()

    def break_off(self, how: Break) -> None:
        """Close, or make the kernel send a reset."""
        if how is Break.CLOSE:
            self._transport.close()
            return
        peer = self._transport.get_extra_info("socket")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        self._transport.abort()

    def _response(self) -> None:
        assert self._request is not None
        asked = RequestKey(
            "h1",
            self._request.method.decode(),
            self._request.target.decode(),
            tuple((name.decode(), value.decode()) for name, value in self._request.headers),
            bytes(self._body),
        )
        self._plan = self._plans.get(asked.key) or unplanned()
        self._plan.take(asked)
        self._task = asyncio.get_running_loop().create_task(perform(self._plan, self))
        self._task.add_done_callback(self._next)

    def _next(self, task: asyncio.Task[None]) -> None:
        rest, _ = self._reader.trailing_data
        assert self._plan is not None
        self._plan.settle(task)
        self._reader, self._body, self._task = h11.Connection(h11.SERVER), bytearray(), None
        if rest and not self._left:
            self.receive(rest)
