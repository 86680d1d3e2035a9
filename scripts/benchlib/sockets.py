"""What a message on a WebSocket costs: mitmdump without us, looking, and with repairs. Knows sockets."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from websockets.asyncio.server import serve
from websockets.sync.client import connect

from benchlib.results import ratio
from benchlib.usage import processor_seconds, resident
from tests.e2e.harness.mitmdump import Mitmdump
from toolstream_core.packaged import addon_script

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
_ANSWER: Final = {"id": "resp_1", "object": "response", "status": "in_progress", "model": "m", "output": []}
_CALL: Final = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "write_file", "arguments": ""}
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
    return [
        one for kind in ("content", "tool") for one in _measured(folder, kind, list(_events(kind, messages)), rounds)
    ]


def ratios(passed: Sequence[Passing]) -> list[tuple[Passing, float]]:
    """How many times mitmproxy's own processor time a message takes by each other way."""
    bare = {one.kind: one for one in passed if WAYS[one.way] is None}
    return [(one, ratio(one.processor, bare[one.kind].processor)) for one in passed if WAYS[one.way] is not None]


def _measured(folder: Path, kind: str, events: Sequence[str], rounds: int) -> list[Passing]:
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=_serve, args=(events, there), daemon=True)
    server.start()
    port = here.recv()
    ways = [Passing(kind, way, len(events)) for way in WAYS]
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
    """Ask for the answer, and check each of its messages."""
    with connect(f"ws://127.0.0.1:{port}/v1/responses", compression=None, proxy=None) as socket:
        socket.send(_ASK)
        for event in events:
            came = socket.recv()
            assert came == event, came


def _events(kind: str, messages: int) -> Any:
    """An answer of about so many messages."""
    yield json.dumps({"type": "response.created", "response": _ANSWER, "sequence_number": 0})
    if kind == "tool":
        added = {"type": "response.output_item.added", "output_index": 0, "item": _CALL, "sequence_number": 1}
        yield json.dumps(added)
    texts = [f"word{number % 97} " for number in range(messages)]
    if kind == "tool":
        texts = ['{"text":"', *texts, '"}']
    name = "response.output_text.delta" if kind == "content" else "response.function_call_arguments.delta"
    for number, text in enumerate(texts, 2):
        delta = {"type": name, "item_id": "fc_1", "output_index": 0, "delta": text, "sequence_number": number}
        yield json.dumps(delta)
    item = {**_CALL, "arguments": "".join(texts)}
    output = [item] if kind == "tool" else []
    number = len(texts) + 2
    if kind == "tool":
        yield json.dumps(
            {
                "type": "response.function_call_arguments.done",
                "item_id": "fc_1",
                "output_index": 0,
                "arguments": item["arguments"],
                "sequence_number": number,
            }
        )
        done = {"type": "response.output_item.done", "output_index": 0, "item": item, "sequence_number": number + 1}
        yield json.dumps(done)
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response = {**_ANSWER, "status": "completed", "output": output, "usage": usage}
    yield json.dumps({"type": "response.completed", "response": response, "sequence_number": number + 2 * len(output)})


def _serve(events: Sequence[str], pipe: Connection) -> None:
    """Answer each message with all events."""

    async def answer(socket: ServerConnection) -> None:
        async for _ in socket:
            for event in events:
                await socket.send(event)

    async def run() -> None:
        async with serve(answer, "127.0.0.1", 0, compression=None) as server:
            pipe.send(server.sockets[0].getsockname()[1])
            await server.serve_forever()

    asyncio.run(run())
