"""The cost of a message on a WebSocket: mitmdump alone, with toolstream, and with repairs."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from websockets.asyncio.server import serve
from websockets.sync.client import connect

from benchlib.streams import HEALTHY, Load, cut, response
from benchlib.wire import processor_seconds, resident
from tests.e2e.harness.mitmdump import Mitmdump
from toolstream_core.packaged import addon_script
from toolstream_core.protocols.responses.responses import events as response_events

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

    from websockets.asyncio.server import ServerConnection

SETUPS: Final = {
    "mitmproxy alone": None,
    "toolstream calls": {"toolstream_log": "calls"},
    "toolstream calls, repair": {"toolstream_log": "calls", "toolstream_repair": "safe"},
}
"""The setups and their toolstream options; `None` is mitmproxy without toolstream."""
_REQUEST: Final = json.dumps({"type": "response.create", "model": "m", "input": "go"})


@dataclass(slots=True)
class Passing:
    """The cost of messages of one kind with one setup."""

    kind: str
    setup: str
    messages: int
    processor: list[float] = field(default_factory=list)
    """The processor seconds of mitmdump, one value for each round."""
    mebibytes: float = 0.0
    """The memory of mitmdump after the last round."""


def measure(folder: Path, messages: int, rounds: int) -> list[Passing]:
    """Measure each kind with each setup, alternating. Raises `AssertionError` if a message is changed."""
    return [one for kind in HEALTHY for one in _measured(folder, Load(kind, messages), rounds)]


def _measured(folder: Path, load: Load, rounds: int) -> list[Passing]:
    numbered = enumerate(response_events(response(load), cut(load)))
    events = [json.dumps({**event, "sequence_number": number}) for number, event in numbered]
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=_serve, args=(events, there), daemon=True)
    server.start()
    port = here.recv()
    setups = [Passing(load.kind, setup, len(events)) for setup in SETUPS]
    with ExitStack() as stack:
        proxies = [stack.enter_context(_proxy(folder, port, SETUPS[one.setup])) for one in setups]
        for _ in range(rounds):
            for one, proxy in zip(setups, proxies, strict=True):
                assert proxy.pid is not None
                before = processor_seconds(proxy.pid)
                _fetch(proxy.port, events)
                one.processor.append(processor_seconds(proxy.pid) - before)
                one.mebibytes = resident(proxy.pid)
    server.terminate()
    server.join()
    return setups


def _proxy(folder: Path, port: int, options: dict[str, str] | None) -> Mitmdump:
    mode = f"reverse:http://127.0.0.1:{port}"
    return Mitmdump(options or {}, mode=mode, scripts=[] if options is None else [addon_script()], confdir=folder)


def _fetch(port: int, events: Sequence[str]) -> None:
    """Request the response, and check each message."""
    with connect(f"ws://127.0.0.1:{port}/v1/responses", compression=None, proxy=None) as socket:
        socket.send(_REQUEST)
        for event in events:
            received = socket.recv()
            assert received == event, received


def _serve(events: Sequence[str], pipe: Connection) -> None:
    """Send all events for each request."""

    async def response(socket: ServerConnection) -> None:
        async for _ in socket:
            for event in events:
                await socket.send(event)

    async def run() -> None:
        async with serve(response, "127.0.0.1", 0, compression=None) as server:
            pipe.send(server.sockets[0].getsockname()[1])
            await server.serve_forever()

    asyncio.run(run())
