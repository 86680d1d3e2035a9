"""What toolstream promises of its cost, held against what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from benchlib import sockets
from benchlib.results import ratio
from benchlib.streams import HEALTHY, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchlib.results import Results


_ADDED_MS = 0.1
_GROWN_MIB = 10
_TIMES_SDK = 20
_TIMES_BARE = 1.35
_TIMES_CAPTURED = 1.15
_TIMES_SOCKET = {"toolstream calls": 1.2, "toolstream calls, repair": 1.5}


class Judged(NamedTuple):
    """One promise in one scene."""

    target: str
    scene: str
    measured: str
    match: bool


def judge(results: Results) -> list[Judged]:
    """Every target whose section ran."""
    judged = [*_throughput(results), *_paced(results), *_captured(results), *_sockets(results)]
    if results.latency:
        judged += _latency(results)
    return [*judged, *_memory(results), *_core(results)]


def _throughput(results: Results) -> Iterator[Judged]:
    for kind, letter, other, limit in (
        (Kind.CONTENT, "c", "a", 1.1),
        (Kind.TOOL, "c", "a", 1.4),
        (Kind.CONTENT, "c", "b", 1.0),
        (Kind.TOOL, "d", "a", 2.0),
        (Kind.CONTENT, "e", "a", 1.5),
        (Kind.TOOL, "e", "a", 1.5),
        (Kind.BROKEN, "e", "a", 2.0),
    ):
        for scene, times in results.ratios(kind, letter, other).items():
            yield Judged(f"({letter}) <= {limit} x ({other})", scene, f"{times:.3f} x", times <= limit)


def _paced(results: Results) -> Iterator[Judged]:
    for scene, times in results.paced_ratios().items():
        yield Judged(f"(g) <= {_TIMES_BARE} x (a), live", scene, f"{times:.3f} x", times <= _TIMES_BARE)


def _sockets(results: Results) -> Iterator[Judged]:
    for one, times in sockets.ratios(results.sockets):
        most = _TIMES_SOCKET[one.way]
        yield Judged(f"{one.way} <= {most} x mitmproxy, a message", one.kind, f"{times:.3f} x", times <= most)


def _captured(results: Results) -> Iterator[Judged]:
    for scene, found in results.captured_ratios().items():
        met = found.times <= _TIMES_CAPTURED
        yield Judged(f"(i) <= {_TIMES_CAPTURED} x (h), processor", scene, f"{found} x", met)


def _latency(results: Results) -> Iterator[Judged]:
    for kind in HEALTHY:
        for letter in ("c", "d"):
            added = results.added(kind, letter)
            scene = f"{kind}, one event at a time"
            yield Judged(f"({letter}) adds <= {_ADDED_MS} ms, p50", scene, f"{added:+.3f} ms", added <= _ADDED_MS)


def _memory(results: Results) -> Iterator[Judged]:
    for one in results.memory:
        if one.letter in {"c", "i"}:
            grown = one.growth.grown
            scene = f"{one.load.kind}, {one.load.events} events"
            yield Judged(f"({one.letter}) grows < {_GROWN_MIB} MiB", scene, f"{grown:.1f} MiB", grown < _GROWN_MIB)


def _core(results: Results) -> Iterator[Judged]:
    for raced in results.core:
        if raced.protocol != "openai-chat":
            continue
        times = ratio(raced.sdk, raced.ours)
        scene = f"{raced.load.kind}, {raced.load.events} events"
        yield Judged(f"reader >= {_TIMES_SDK} x openai SDK", scene, f"{times:.1f} x", times >= _TIMES_SDK)
