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

from benchlib import provided, sockets, turns  # noqa: E402 - the checkout's own addon is measured
from benchlib.rig import rig  # noqa: E402
from benchlib.streams import Kind, Load  # noqa: E402
from benchlib.tables import Results, report  # noqa: E402
from benchlib.turns import PACE, Scene  # noqa: E402
from benchlib.wire import Security, secure  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

SECTIONS = ("throughput", "latency", "memory", "core", "provided", "paced", "captured", "sockets", "view")
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
    if options.quick:
        options.rounds, options.events, options.pings, options.memory_events = 1, 400, 100, 4000
        options.provided = 20
    results, load = Results(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        _measure(options, Path(folder), results)
        if "provided" in options.only:
            results.provided = [provided.measure(Path(folder), options.provided, 40 if options.quick else 250)]
        if "sockets" in options.only:
            results.sockets = sockets.measure(Path(folder), 200 if options.quick else 10_000, options.rounds)
        if "view" in options.only:
            from benchlib import viewing

            results.view = viewing.measure(Path(folder), 500 if options.quick else 10_000, options.rounds)
    if "core" in options.only:
        # With it come the SDKs: seconds of imports, in the upstream's and the client's process too.
        from benchlib import core

        sizes = [200] if options.quick else [200, 2000, 20_000] if options.full else [200, 2000]
        results.core = core.measure(sizes, options.rounds)
    print(ABOUT, _machine(load), sep="\n\n", end="\n\n")
    for text in report(results):
        print(text)
    if options.json:
        options.json.write_text(json.dumps(asdict(results), indent=1), encoding="utf-8")
    return 0


def _machine(load: float) -> str:
    versions = f"Python {platform.python_version()}, mitmproxy {mitmproxy.version.VERSION}"
    return f"{versions}, {os.cpu_count()} processors; load {load:.1f} before, {os.getloadavg()[0]:.1f} after."


def _measure(options: argparse.Namespace, folder: Path, results: Results) -> None:
    with rig(folder, secure(folder) if options.tls else Security()) as running:
        if "throughput" in options.only:
            results.throughput = turns.throughput(running, _scenes(options), options.rounds)
        if "latency" in options.only:
            results.latency = turns.latency(running, options.pings)
        if "memory" in options.only:
            results.memory = turns.memory(running, options.memory_events)
        if "paced" in options.only:
            size = (3, 40) if options.quick else (50, 250)
            kinds = (Kind.BROKEN,) if options.quick else tuple(Kind)
            results.paced = turns.paced(running, kinds, *size, options.rounds)
        if "captured" in options.only:
            results.captured = turns.captured(running, _captured_scenes(options), options.rounds)


def _captured_scenes(options: argparse.Namespace) -> list[Scene]:
    """One fast stream, and many in the time of real ones."""
    if options.quick:
        return [Scene(Load(Kind.TOOL, options.events), 2)]
    many = [Scene(Load(kind, 250, PACE), 50) for kind in (Kind.CONTENT, Kind.TOOL)]
    return [*many, *(Scene(Load(kind, options.events), 1) for kind in (Kind.CONTENT, Kind.TOOL))]


def _scenes(options: argparse.Namespace) -> list[Scene]:
    sizes = [(1, options.events), (50, options.events if options.full else max(20, options.events // 10))]
    if options.quick:
        sizes = [(2, options.events)]
    return [Scene(Load(kind, events), streams) for kind in Kind for streams, events in sizes]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__, epilog=ABOUT)
    parser.add_argument("--rounds", type=int, default=7, help="how often each contender has its turn")
    parser.add_argument("--events", type=int, default=20_000, help="of one stream; 50 at once have a tenth each")
    parser.add_argument("--pings", type=int, default=2000, help="events of the latency section")
    parser.add_argument("--memory-events", type=int, default=1_000_000, help="of the one long stream")
    parser.add_argument("--provided", type=int, default=200, help="provided streams at once")
    parser.add_argument("--full", action="store_true", help="50 streams of --events each, SDKs at 20000 events")
    parser.add_argument("--quick", action="store_true", help="tiny numbers: does it work at all?")
    parser.add_argument("--tls", action="store_true", help="TLS on both sides of the proxy")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="sections to run")
    parser.add_argument("--json", type=Path, help="a file for every single number")
    return parser


if __name__ == "__main__":
    sys.exit(main())
