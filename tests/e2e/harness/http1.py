"""The upstream's side of an HTTP/1.1 connection: each chunk is an HTTP chunk, written at once."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING

import h11

from tests.e2e.harness.plan import Plan, ReceivedRequest, perform, unplanned
from tests.e2e.harness.script import Break, Framing, Response

if TYPE_CHECKING:
    from collections.abc import Mapping

LINGER_NOT = struct.pack("ii", 1, 0)


class Http1:
    """A connection with sequential requests. h11 reads the requests; the responses are written without it."""

    def __init__(self, transport: asyncio.Transport, plans: Mapping[str, Plan]) -> None:
        """`plans` has the response of each request key."""
        self._transport = transport
        self._plans = plans
        self._reader = h11.Connection(h11.SERVER)
        self._request: h11.Request | None = None
        self._body = bytearray()
        self._task: asyncio.Task[None] | None = None
        self._plan: Plan | None = None
        self._left = False
        self._framing = Framing.CHUNKED

    def receive(self, data: bytes) -> None:
        """Read data, and respond to a complete request."""
        self._reader.receive_data(data)
        while True:
            event = self._reader.next_event()
            match event:
                case h11.Request():
                    self._request = event
                case h11.Data():
                    self._body += event.data
                case h11.EndOfMessage():
                    self._respond()
                    return
                case _:
                    return

    def lost(self) -> None:
        """The connection is closed."""
        self._left = True
        if self._task is not None and self._plan is not None:
            self._plan.client_left.open()
            self._task.cancel()

    def head(self, response: Response) -> None:
        """Send status line and headers in one write."""
        self._framing = response.framing
        fields = list(response.fields)
        match response.framing:
            case Framing.CHUNKED:
                fields.append(("transfer-encoding", "chunked"))
            case Framing.LENGTH:
                fields.append(("content-length", str(response.length)))
            case Framing.CLOSE:
                fields.append(("connection", "close"))
        lines = [f"HTTP/1.1 {response.status} Response", *(f"{name}: {value}" for name, value in fields), "", ""]
        self._transport.write("\r\n".join(lines).encode())

    async def send(self, data: bytes) -> None:
        """Send one HTTP chunk, or the bare bytes if the body is not chunked."""
        if data and self._framing is Framing.CHUNKED:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        self._transport.write(data)

    def end(self) -> None:
        """Send the last HTTP chunk, or close the connection."""
        if self._framing is Framing.CHUNKED:
            self._transport.write(b"0\r\n\r\n")
        if self._framing is Framing.CLOSE:
            self._transport.close()

    def break_off(self, how: Break) -> None:
        """Close the connection, or make the kernel send a reset."""
        if how is Break.CLOSE:
            self._transport.close()
            return
        peer = self._transport.get_extra_info("socket")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        self._transport.abort()

    def _respond(self) -> None:
        assert self._request is not None
        request = ReceivedRequest(
            "h1",
            self._request.method.decode(),
            self._request.target.decode(),
            tuple((name.decode(), value.decode()) for name, value in self._request.headers),
            bytes(self._body),
        )
        self._plan = self._plans.get(request.key) or unplanned()
        self._plan.take(request)
        self._task = asyncio.get_running_loop().create_task(perform(self._plan, self))
        self._task.add_done_callback(self._next)

    def _next(self, task: asyncio.Task[None]) -> None:
        rest, _ = self._reader.trailing_data
        assert self._plan is not None
        self._plan.settle(task)
        self._reader, self._body, self._task = h11.Connection(h11.SERVER), bytearray(), None
        if rest and not self._left:
            self.receive(rest)
