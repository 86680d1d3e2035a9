"""An upstream that speaks WebSocket: each request on a socket gets the next of its answers, message by message.

A request that only warms up gets a response without output.
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
"""Seconds for which a client may say nothing; one that waits for what never comes is sent away then."""


@dataclass
class Planned:
    """What one socket gets, and what came on it."""

    responses: Sequence[Sequence[Message]]
    """The messages of each answer, in the order in which they are asked for."""
    asks: str = "response.create"
    """The type of the messages that are answered; each is where that is `""`."""
    together: int = 1
    """How many requests are waited for; their answers' messages are then sent in turns."""
    greeting: Sequence[Message] = ()
    """What is said when the socket was opened."""
    close: int | None = None
    """The code with which the socket is closed behind the last answer."""
    reason: str = ""
    """What is said with that code: 123 bytes at most."""
    received: list[dict[str, Any]] = field(default_factory=list)
    """The client's messages."""
    path: str = ""
    """Where the socket is opened, before `/v1/...`."""
    closed: int | None = None
    """The code with which the proxy has closed, once it has."""
    over: threading.Event = field(default_factory=threading.Event)
    """Set when the socket is closed."""


class SocketServer:
    """Runs in a thread of its own, on a free port of the loopback address."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        """With `tls`, for `wss://`."""
        self._tls = tls
        self._plans: dict[str, Planned] = {}
        self._numbers = itertools.count(1)
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stopping: asyncio.Event
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.port = 0

    def __enter__(self) -> Self:
        """Serve until the end of the block."""
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop serving."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def plan(self, planned: Planned) -> Planned:
        """Give the next socket that is opened at `planned.path` these answers."""
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
                if planned.asks in {"", message.get("type")}:
                    waiting.append(message.get("stream_id", ""))
                if len(waiting) == planned.together:
                    await self._response(socket, [(lane, next(responses)) for lane in waiting])
                    waiting.clear()
                    if planned.close is not None and len(planned.received) >= len(planned.responses):
                        await socket.close(planned.close, planned.reason)
        except ConnectionClosed:
            pass
        except TimeoutError:
            await socket.close(4000, "the client asks no more")
        finally:
            planned.closed = socket.close_code
            planned.over.set()

    async def _warm_up(self, socket: ServerConnection, request: dict[str, Any], number: int) -> None:
        """Answer a request for which nothing is to be generated."""
        for frame in SseFramer().feed(b"".join(warmed_up(request, f"warm{number}"))):
            await socket.send((frame.data or b"").decode())

    async def _response(self, socket: ServerConnection, responses: Sequence[tuple[str, Sequence[Message]]]) -> None:
        """Send the answers' messages in turns, each with its lane where it has one."""
        for turn in itertools.zip_longest(*(messages for _, messages in responses)):
            for (lane, _), message in zip(responses, turn, strict=True):
                if message is not None:
                    await socket.send(_in_lane(message, lane))


def _in_lane(message: Message, lane: str) -> Message:
    if not lane or isinstance(message, bytes):
        return message
    return json.dumps({**json.loads(message), "stream_id": lane}, separators=(",", ":"), ensure_ascii=False)
