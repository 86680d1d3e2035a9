"""What a message on a WebSocket costs: mitmdump without us, looking, and with repairs. Knows sockets."""

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

WAYS: Final = {
    "mitmproxy alone": None,
    "toolstream calls": {"toolstream_log": "calls"},
    "toolstream calls, repair": {"toolstream_log": "calls", "toolstream_repair": "safe"},
}
"""What the messages go through, and the options of ours; `None` without us."""
_ASK: Final = json.dumps({"type": "response.create", "model": "m", "input": "go"})


@dataclass(slots=True)
class Passing:
    """One way of messages of one kind."""

    kind: str
    way: str
    messages: int
    processor: list[float] = field(default_factory=list)
    """Seconds of mitmdump's, one a round."""
    mebibytes: float = 0.0
    """What mitmdump has in memory behind the last round."""


def measure(folder: Path, messages: int, rounds: int) -> list[Passing]:
    """Each kind by each way, in turns. Raises `AssertionError` where a message does not come as it was sent."""
    return [one for kind in HEALTHY for one in _measured(folder, Load(kind, messages), rounds)]


def _measured(folder: Path, load: Load, rounds: int) -> list[Passing]:
    made = enumerate(response_events(response(load), cut(load)))
    events = [json.dumps({**event, "sequence_number": number}) for number, event in made]
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=_serve, args=(events, there), daemon=True)
    server.start()
    port = here.recv()
    ways = [Passing(load.kind, way, len(events)) for way in WAYS]
    with ExitStack() as stack:
        proxies = [stack.enter_context(_proxy(folder, port, WAYS[one.way])) for one in ways]
        for _ in range(rounds):
            for one, proxy in zip(ways, proxies, strict=True):
                assert proxy.pid is not None
                before = processor_seconds(proxy.pid)
                _ask(proxy.port, events)
                one.processor.append(processor_seconds(proxy.pid) - before)
                one.mebibytes = resident(proxy.pid)
    server.terminate()
    server.join()
    return ways


def _proxy(folder: Path, port: int, options: dict[str, str] | None) -> Mitmdump:
    mode = f"reverse:http://127.0.0.1:{port}"
    return Mitmdump(options or {}, mode=mode, scripts=[] if options is None else [addon_script()], confdir=folder)


def _ask(port: int, events: Sequence[str]) -> None:
    """Ask for the response, and check each of its messages."""
    with connect(f"ws://127.0.0.1:{port}/v1/responses", compression=None, proxy=None) as socket:
        socket.send(_ASK)
        for event in events:
            came = socket.recv()
            assert came == event, came


def _serve(events: Sequence[str], pipe: Connection) -> None:
    """Answer each message with all events."""

    async def response(socket: ServerConnection) -> None:
        async for _ in socket:
            for event in events:
                await socket.send(event)

    async def run() -> None:
        async with serve(response, "127.0.0.1", 0, compression=None) as server:
            pipe.send(server.sockets[0].getsockname()[1])
            await server.serve_forever()

    asyncio.run(run())
