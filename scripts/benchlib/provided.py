"""Whether many provided streams at once hold their schedule. Knows saved flows and sockets."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mitmproxy.io import FlowWriter

from benchlib.streams import Kind, Load, as_chunk
from tests.e2e.harness.mitmdump import Mitmdump
from toolstream_core.packaged import addon_script
from toolstream_core.saved.exchange import Exchange
from toolstream_core.saved.flow import flow_of

if TYPE_CHECKING:
    from pathlib import Path

EVERY = 20
"""Milliseconds between the events of one stream: 50 a second."""
_HOST = "llm.invalid"
_REQUEST = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "go"}]}).encode()


@dataclass(slots=True)
class Lateness:
    """Milliseconds that events came after they were due, one an event."""

    streams: int
    events: int
    """Of each stream."""
    milliseconds: list[float] = field(default_factory=list)


def measure(folder: Path, streams: int, events: int) -> Lateness:
    """All streams are asked for at once; an event is due so long after its stream's first one."""
    load = Load(Kind.TOOL, events)
    saved = folder / "provided.flow"
    _save(saved, load)
    options = {"toolstream_provider": str(saved), "toolstream_provider_repeats": "0", "toolstream_log": "calls"}
    late = Lateness(streams, events)
    with Mitmdump(options, mode=f"reverse:http://{_HOST}", scripts=[addon_script()], confdir=folder) as proxy:
        asyncio.run(_all(proxy.port, streams, load, late))
    return late


async def _all(port: int, streams: int, load: Load, late: Lateness) -> None:
    await asyncio.gather(*(_one(port, load, late) for _ in range(streams)))


async def _one(port: int, load: Load, late: Lateness) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {_HOST}\r\ncontent-length: {len(_REQUEST)}\r\n"
    writer.write(f"{head}content-type: application/json\r\n\r\n".encode() + _REQUEST)
    await reader.readuntil(b"\r\n\r\n")
    start = 0.0
    for number, block in enumerate(load.blocks()):
        came = await reader.readexactly(len(as_chunk(block)))
        now = time.perf_counter()
        assert came == as_chunk(block), came
        start = start or now
        late.milliseconds.append((now - start) * 1000 - number * EVERY)
    writer.close()


def _save(path: Path, load: Load) -> None:
    """A flow whose events came one by one."""
    blocks = list(load.blocks())
    exchange = Exchange.of(
        source="bench",
        url=f"https://{_HOST}/v1/chat/completions",
        request_headers=(("content-type", "application/json"),),
        request_body=_REQUEST,
        response_headers=(("content-type", "text/event-stream"),),
        body=b"".join(blocks),
        table=[(number * EVERY, len(block)) for number, block in enumerate(blocks)],
    )
    with path.open("wb") as out:
        FlowWriter(out).add(flow_of(exchange))
