"""Measure the cost of toolstream, compared with plain streaming and a naive addon."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import mitmproxy.version

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in ("addon", "")]

from benchlib import sockets, turns  # noqa: E402 - the checkout's own addon is measured
from benchlib.rig import rig  # noqa: E402
from benchlib.streams import Kind, Load  # noqa: E402
from benchlib.tables import Results, report  # noqa: E402
from benchlib.turns import PACE, Scene  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

SECTIONS = ("throughput", "latency", "memory", "core", "paced", "captured", "sockets")
ABOUT = """\
An event is an SSE event in one HTTP chunk of 290 to 330 bytes, as OpenAI sends them. The upstream sends as fast
as possible: mitmdump is the bottleneck and reads many chunks at once, as under load. The latency section sends
one event at a time. Contenders alternate in each round. "x (a)" is the median of the ratios in each round, and
"cpu x (a)" that of mitmdump's processor time, which other processes disturb less. Every byte at the client and
every call in toolstream's log is checked; a difference ends the run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the selected sections, print the tables, and write the numbers."""
    options = _parser().parse_args(arguments)
    rounds = 1 if options.quick else options.rounds
    results, load = Results(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        _measure(options, rounds, Path(folder), results)
        if "sockets" in options.only:
            results.sockets = sockets.measure(Path(folder), 200 if options.quick else 10_000, rounds)
    if "core" in options.only:
        # Imported late: it imports the SDKs, which takes seconds, also in the processes of upstream and client.
        from benchlib import core

        results.core = core.measure([200] if options.quick else [200, 2000], rounds)
    print(ABOUT, _machine(load), sep="\n\n", end="\n\n")
    for text in report(results):
        print(text)
    if options.json:
        options.json.write_text(json.dumps(asdict(results), indent=1), encoding="utf-8")
    return 0


def _machine(load: float) -> str:
    versions = f"Python {platform.python_version()}, mitmproxy {mitmproxy.version.VERSION}"
    return f"{versions}, {os.cpu_count()} processors; load {load:.1f} before, {os.getloadavg()[0]:.1f} after."


def _measure(options: argparse.Namespace, rounds: int, folder: Path, results: Results) -> None:
    quick, only = options.quick, options.only
    events = 400 if quick else 20_000
    with rig(folder) as running:
        if "throughput" in only:
            sizes = [(2, events)] if quick else [(1, events), (50, events // 10)]
            scenes = [Scene(Load(kind, each), streams) for kind in Kind for streams, each in sizes]
            results.throughput = turns.throughput(running, scenes, rounds)
        if "latency" in only:
            results.latency = turns.latency(running, 100 if quick else 2000)
        if "memory" in only:
            results.memory = turns.memory(running, 4000 if quick else 1_000_000)
        if "paced" in only:
            kinds, size = ((Kind.BROKEN,), (3, 40)) if quick else (tuple(Kind), (50, 250))
            results.paced = turns.paced(running, kinds, *size, rounds)
        if "captured" in only:
            results.captured = turns.captured(running, _captured_scenes(events, quick=quick), rounds)


def _captured_scenes(events: int, *, quick: bool) -> list[Scene]:
    """One fast stream, and many paced streams."""
    if quick:
        return [Scene(Load(Kind.TOOL, events), 2)]
    many = [Scene(Load(kind, 250, PACE), 50) for kind in (Kind.CONTENT, Kind.TOOL)]
    return [*many, *(Scene(Load(kind, events), 1) for kind in (Kind.CONTENT, Kind.TOOL))]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__, epilog=ABOUT)
    parser.add_argument("--rounds", type=int, default=7, help="number of rounds")
    parser.add_argument("--quick", action="store_true", help="use small sizes: only check that it works")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="sections to run")
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
