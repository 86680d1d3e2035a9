"""What toolstream costs: side by side with plain streaming and a naive addon. Knows the command line."""

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
One event is one SSE event in one HTTP chunk, 290 to 330 bytes as OpenAI sends them. The upstream does not
pace, so that mitmdump is what is measured: it then reads many chunks at once, as it would under load; one
event at a time is the latency section. Contenders take turns round by round; "x (a)" is the median of the
ratios within a round, "cpu x (a)" the same of mitmdump's own processor time, which others on the machine
disturb less. Every byte at the client and every call that toolstream tells is checked; a difference ends
the run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for, print the tables, keep the numbers."""
    options = _parser().parse_args(arguments)
    rounds = 1 if options.quick else options.rounds
    results, load = Results(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        _measure(options, rounds, Path(folder), results)
        if "sockets" in options.only:
            results.sockets = sockets.measure(Path(folder), 200 if options.quick else 10_000, rounds)
    if "core" in options.only:
        # With it come the SDKs: seconds of imports, in the upstream's and the client's process too.
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
    """One fast stream, and many in the time of real ones."""
    if quick:
        return [Scene(Load(Kind.TOOL, events), 2)]
    many = [Scene(Load(kind, 250, PACE), 50) for kind in (Kind.CONTENT, Kind.TOOL)]
    return [*many, *(Scene(Load(kind, events), 1) for kind in (Kind.CONTENT, Kind.TOOL))]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__, epilog=ABOUT)
    parser.add_argument("--rounds", type=int, default=7, help="how often each contender has its turn")
    parser.add_argument("--quick", action="store_true", help="tiny numbers: does it work at all?")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="sections to run")
    parser.add_argument("--json", type=Path, help="a file for every single number")
    return parser


if __name__ == "__main__":
    sys.exit(main())
