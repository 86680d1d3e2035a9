"""The tables that a run prints, as Markdown that a terminal can show too. Knows the results."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Final

from benchlib import sockets
from benchlib.capturing import OFF
from benchlib.estimate import lesser_half
from benchlib.paced import PACE
from benchlib.results import ratio
from benchlib.rig import CONTENDERS
from benchlib.targets import judge
from benchlib.throughput import DIRECT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchlib.results import Results

type Row = Sequence[str]


def report(results: Results) -> Iterator[str]:
    """A table for each section that ran and one for the targets."""
    for name, title, head, rows in _SECTIONS:
        if getattr(results, name):
            yield f"## {title}\n"
            yield _table(head, rows(results))
    yield "## Targets\n"
    yield _table("target | where | measured | met?", _judgements(results))


def _times(results: Results) -> Iterator[Row]:
    for timed in results.throughput:
        middle, base = statistics.median(timed.seconds), results.baseline(timed)
        yield (
            timed.scene.name,
            "no proxy" if timed.letter == DIRECT else CONTENDERS[timed.letter].name,
            f"{middle:.3f}",
            f"{middle * 1e6 / timed.scene.events:.1f}",
            f"{ratio(timed.seconds, base.seconds):.2f}",
            f"{min(timed.seconds):.3f}..{max(timed.seconds):.3f}",
            f"{ratio(timed.processor, base.processor):.2f}" if any(timed.processor) else "-",
            f"{timed.peak:.0f}" if timed.peak else "-",
        )


def _paced(results: Results) -> Iterator[Row]:
    ratios = results.paced_ratios()
    for one in results.paced:
        cost = statistics.median(one.processor) * 1e6 / one.scene.events
        times = ratios.get(one.scene.name, 0.0) if one.letter != "a" else 1.0
        yield one.scene.name, CONTENDERS[one.letter].name, f"{cost:.1f}", f"{times:.2f}" if times else "-"


def _captured(results: Results) -> Iterator[Row]:
    ratios = results.captured_ratios()
    for one in results.captured:
        measures = (min, lesser_half, statistics.median, max)
        shown = (f"{measure(one.processor) * 1e6 / one.scene.events:.1f}" for measure in measures)
        times = "1.00" if one.letter == OFF else str(ratios.get(one.scene.name, "-"))
        yield one.scene.name, CONTENDERS[one.letter].name, *shown, times


def _delays(results: Results) -> Iterator[Row]:
    for delays in results.latency:
        kind, letter = delays.kind, delays.letter
        milliseconds = (
            delays.percentile(50),
            delays.percentile(99),
            results.added(kind, letter),
            results.added(kind, letter, 99),
        )
        yield kind, CONTENDERS[letter].name, *(f"{one:.3f}" for one in milliseconds)


def _oddities(results: Results) -> Iterator[Row]:
    plain = results.odd[0]
    for one in results.odd:
        reading, repairing = one.reading / plain.reading, one.repairing / plain.repairing
        yield (
            one.name,
            str(one.events),
            f"{one.reading:.1f}",
            f"{reading:.1f}",
            f"{one.repairing:.1f}",
            f"{repairing:.1f}",
        )


def _growths(results: Results) -> Iterator[Row]:
    for one in results.memory:
        yield (
            f"{one.load.kind}, {one.load.events} events",
            CONTENDERS[one.letter].name,
            f"{one.growth.start:.1f}",
            f"{one.growth.grown:.1f}",
            f"{one.growth.peak:.1f}",
            f"{one.seconds * 1e6 / one.load.events:.1f}",
        )


def _races(results: Results) -> Iterator[Row]:
    for raced in results.core:
        ours, sdk = statistics.median(raced.ours), statistics.median(raced.sdk)
        yield (
            f"{raced.protocol} {raced.load.kind}",
            f"{raced.load.events}",
            f"{raced.load.events / ours:,.0f}",
            f"{raced.load.events / sdk:,.0f}",
            f"{ratio(raced.sdk, raced.ours):.1f}",
            f"{ours * 1e6 / raced.load.events:.2f}",
        )


def _lateness(results: Results) -> Iterator[Row]:
    for one in results.provided:
        late = (one.percentile(50), one.percentile(99), max(one.milliseconds))
        yield f"{one.streams}", f"{one.events}", *(f"{value:.1f}" for value in late)


def _sockets(results: Results) -> Iterator[Row]:
    times = {(one.kind, one.way): times for one, times in sockets.ratios(results.sockets)}
    for one in results.sockets:
        each = statistics.median(one.processor) / one.messages * 1e6
        beside = times.get((one.kind, one.way), 1.0)
        yield f"{one.messages} {one.kind}", one.way, f"{each:.1f}", f"{beside:.2f}", f"{one.mebibytes:.0f}"


def _views(results: Results) -> Iterator[Row]:
    for one in results.view:
        seconds, beside = statistics.median(one.seconds), statistics.median(one.beside)
        row = (one.what, f"{one.events}", f"{one.size / 1e6:.2f}", f"{seconds:.3f}", one.baseline)
        yield (*row, f"{seconds / beside:.1f}")


def _judgements(results: Results) -> Iterator[Row]:
    for one in judge(results):
        yield one.target, one.scene, one.measured, "yes" if one.match else "NO"


def _table(head: str, rows: Iterator[Row]) -> str:
    lines: list[Row] = [head.split(" | "), *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join((padded[0], rule, *padded[1:], ""))


_SECTIONS: Final[Sequence[tuple[str, str, str, Callable[[Results], Iterator[Row]]]]] = (
    (
        "throughput",
        "Upstream to client, wall time",
        "streams | through | median s | us/event | x (a) | min..max s | cpu x (a) | peak MiB",
        _times,
    ),
    (
        "latency",
        "One event at a time, idle proxy",
        "stream | through | p50 ms | p99 ms | added p50 | added p99",
        _delays,
    ),
    (
        "memory",
        "Memory over one stream, from its twentieth part on",
        "stream | through | start MiB | growth MiB | peak MiB | us/event",
        _growths,
    ),
    (
        "core",
        "Reading alone, no proxy",
        "stream | events | toolstream events/s | SDK events/s | x SDK | us/event",
        _races,
    ),
    (
        "odd",
        "Odd arguments against plain, no proxy",
        "arguments | events | read us/event | x plain | repair us/event | x plain",
        _oddities,
    ),
    (
        "provided",
        "Saved streams in their own time, 50 events/s each",
        "streams at once | events of each | late p50 ms | late p99 ms | late max ms",
        _lateness,
    ),
    (
        "paced",
        f"Live, {PACE} events/s each: mitmdump's own processor time",
        "streams | through | us/event | x (a)",
        _paced,
    ),
    (
        "captured",
        "Captures: mitmdump's own processor time, until they are written and it is idle",
        "streams | through | us/event, least | lesser half | median | most | x (h)",
        _captured,
    ),
    (
        "sockets",
        "Messages on a WebSocket: mitmdump's own processor time",
        "messages | through | us/message | x mitmproxy | MiB",
        _sockets,
    ),
    ("view", "The session view", "what | events | page MB | median s | beside | x", _views),
)
"""The results, the title, the head and the rows of each table."""
