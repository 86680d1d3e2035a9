"""An upstream for WebSockets: each request on a socket gets the next planned response, message by message.

A warm-up request (`generate: false`) gets a response without output.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

from toolstream_core.protocols.responses.responses import warmed_up
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence

    from websockets.asyncio.server import ServerConnection

    type Message = str | bytes


PATIENCE = 20.0
"""Seconds that a client may be silent before its socket is closed."""


@dataclass
class SocketPlan:
    """The planned responses of a socket, and the messages that the client sent."""

    responses: Sequence[Sequence[Message]]
    """The messages of each response, in the order of the requests."""
    request_type: str = "response.create"
    """The type of messages that get a response; `""` means every message."""
    concurrent: int = 1
    """The number of requests to wait for. The messages of their responses are then interleaved."""
    greeting: Sequence[Message] = ()
    """The messages that are sent when the socket opens."""
    close: int | None = None
    """The code to close the socket with after the last response."""
    reason: str = ""
    """The reason for that code: 123 bytes at most."""
    received: list[dict[str, Any]] = field(default_factory=list)
    """The messages of the client."""
    path: str = ""
    """The start of the URL path, before `/v1/...`."""
    closed: int | None = None
    """The close code from the proxy, once it has closed the socket."""
    ended: threading.Event = field(default_factory=threading.Event)
    """Set when the socket is closed."""


class SocketServer:
    """A server in its own thread, on a free port of the loopback address."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        """With `tls` it serves `wss://`."""
        self._tls = tls
        self._plans: dict[str, SocketPlan] = {}
        self._numbers = itertools.count(1)
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stopping: asyncio.Event
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.port = 0

    def __enter__(self) -> Self:
        """Start serving."""
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop serving."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def plan(self, planned: SocketPlan) -> SocketPlan:
        """Assign a path: the next socket that is opened there gets these responses."""
        planned.path = f"/plan{next(self._numbers)}"
        self._plans[planned.path] = planned
        return planned

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        async with serve(self._handle, "127.0.0.1", 0, ssl=self._tls, max_size=None) as server:
            self.port = server.sockets[0].getsockname()[1]
            self._ready.set()
            await self._stopping.wait()

    async def _handle(self, socket: ServerConnection) -> None:
        assert socket.request is not None
        planned = self._plans["/" + socket.request.path.split("/")[1]]
        try:
            for message in planned.greeting:
                await socket.send(message)
            waiting: list[str] = []
            responses = iter(planned.responses)
            while True:
                async with asyncio.timeout(PATIENCE):
                    message = json.loads(await socket.recv())
                planned.received.append(message)
                if message.get("generate") is False:
                    await self._warm_up(socket, message, len(planned.received))
                    continue
                if planned.request_type in {"", message.get("type")}:
                    waiting.append(message.get("stream_id", ""))
                if len(waiting) == planned.concurrent:
                    await self._respond(socket, [(lane, next(responses)) for lane in waiting])
                    waiting.clear()
                    if planned.close is not None and len(planned.received) >= len(planned.responses):
                        await socket.close(planned.close, planned.reason)
        except ConnectionClosed:
            pass
        except TimeoutError:
            await socket.close(4000, "no request from the client")
        finally:
            planned.closed = socket.close_code
            planned.ended.set()

    async def _warm_up(self, socket: ServerConnection, request: dict[str, Any], number: int) -> None:
        """Respond to a request that generates no output."""
        for frame in SseFramer().feed(b"".join(warmed_up(request, f"warm{number}"))):
            await socket.send((frame.data or b"").decode())

    async def _respond(self, socket: ServerConnection, responses: Sequence[tuple[str, Sequence[Message]]]) -> None:
        """Interleave the messages of the responses, each with its lane if it has one."""
        for turn in itertools.zip_longest(*(messages for _, messages in responses)):
            for (lane, _), message in zip(responses, turn, strict=True):
                if message is not None:
                    await socket.send(_in_lane(message, lane))


def _in_lane(message: Message, lane: str) -> Message:
    if not lane or isinstance(message, bytes):
        return message
    return json.dumps({**json.loads(message), "stream_id": lane}, separators=(",", ":"), ensure_ascii=False)
