"""Reading alone, no proxy: toolstream's reader against the official SDKs', on the same chunks."""

from __future__ import annotations

import gc
import json
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from benchlib import sdk
from benchlib.protocols import PROTOCOLS
from benchlib.streams import HEALTHY, Load
from benchlib.told import WrongCallsError
from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchlib.protocols import Protocol

type Read = Callable[[Sequence[bytes]], sdk.Assembled]


@dataclass(slots=True)
class Raced:
    """Seconds for one stream, a value a round."""

    protocol: str
    load: Load
    ours: list[float] = field(default_factory=list)
    sdk: list[float] = field(default_factory=list)


def measure(sizes: Sequence[int], rounds: int) -> list[Raced]:
    """Every protocol, kind and size; the same chunks for both, taking turns."""
    return [_race(protocol, Load(kind, size), rounds) for protocol in PROTOCOLS for kind in HEALTHY for size in sizes]


def _race(protocol: Protocol, load: Load, rounds: int) -> Raced:
    raced = Raced(protocol.name, load)
    chunks = list(protocol.blocks(load))
    readers = (partial(_read, protocol), raced.ours), (sdk.READERS[protocol.name], raced.sdk)
    for read, _ in readers:
        # The SDKs build their models at first use.
        _timed(read, chunks, load)
    for turn in range(rounds):
        for read, seconds in readers if turn % 2 else readers[::-1]:
            seconds.append(_timed(read, chunks, load))
    return raced


def _timed(read: Read, chunks: Sequence[bytes], load: Load) -> float:
    gc.collect()
    start = time.perf_counter()
    call = read(chunks)
    seconds = time.perf_counter() - start
    arguments = json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
    wanted = load.call
    if (call.id, call.name, arguments) != (wanted.id, wanted.name, json.loads(wanted.arguments)):
        raise WrongCallsError(f"{load}: {str(call)[:300]}")
    return seconds


def _read(protocol: Protocol, chunks: Sequence[bytes]) -> sdk.Assembled:
    exchange = StreamFacts(path=protocol.path, content_type="text/event-stream; charset=utf-8")
    record = read_body(chunks, exchange)
    if record is None or len(record.calls) != 1 or record.findings:
        raise WrongCallsError(f"{protocol.name}: {record}"[:1000])
    call = record.calls[0]
    return sdk.Assembled(call.id, call.name, call.arguments)
