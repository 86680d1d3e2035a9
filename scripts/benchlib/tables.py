"""The Markdown tables of a run, and the targets."""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass, field
from itertools import batched, chain, product
from typing import TYPE_CHECKING, Final, NamedTuple

from benchlib.rig import CONTENDERS
from benchlib.sockets import SETUPS
from benchlib.streams import HEALTHY, Kind
from benchlib.turns import CAPTURED, DIRECT, PACE, TOGETHER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchlib.core import Raced
    from benchlib.sockets import Passing
    from benchlib.turns import Delays, Endured, Timed

type Row = Sequence[str]

TIMES: Final = (
    (Kind.CONTENT, "c", "a", 1.1),
    (Kind.TOOL, "c", "a", 1.4),
    (Kind.CONTENT, "c", "b", 1.0),
    (Kind.TOOL, "d", "a", 2.0),
    (Kind.CONTENT, "e", "a", 1.5),
    (Kind.TOOL, "e", "a", 1.5),
    (Kind.BROKEN, "e", "a", 2.0),
)
"""The maximum ratio of a contender's time to another contender's, for a kind of stream."""
TIMES_LIVE: Final = {"h": 1.15, "g": 1.3}
"""The maximum ratio of the processor time for a live event to mitmproxy's alone."""
TIMES_LATE: Final = 1.3
"""The maximum ratio of the p99 delay of live events to mitmproxy's alone."""
_START: Final = 5
"""The first events of each stream, which are late because all streams start at once."""
TIMES_CAPTURED: Final = 1.1
TIMES_SOCKET: Final = {"toolstream calls": 1.2, "toolstream calls, repair": 1.5}
ADDED_MS: Final = 0.1
GROWN_MIB: Final = 10
TIMES_SDK: Final = 20
_DRAWS: Final = 400
_SEED: Final = 1


class Estimate(NamedTuple):
    """An estimated ratio of two costs."""

    times: float
    spread: float
    """Two standard deviations."""

    def __str__(self) -> str:
        """The value in the tables."""
        return f"{self.times:.2f} ± {self.spread:.2f}"


def lesser_half(costs: Sequence[float]) -> float:
    """The mean of the lesser half of the costs: of the turns that other processes disturbed least."""
    ordered = sorted(costs)
    return statistics.fmean(ordered[: (len(ordered) + 1) // 2])


def estimate(costs: Sequence[float], others: Sequence[float], together: int = 1) -> Estimate:
    """Estimate the ratio from the costs of each turn. A process is restarted after `together` turns.

    The spread is bootstrapped over processes with all of their turns.
    """
    groups = list(batched(zip(costs, others, strict=True), together))
    chance = random.Random(_SEED)
    sampled = [_times([*chain(*chance.choices(groups, k=len(groups)))]) for _ in range(_DRAWS)]
    return Estimate(_times([*chain(*groups)]), 2 * statistics.stdev(sampled))


def _times(pairs: Sequence[tuple[float, float]]) -> float:
    costs, others = zip(*pairs, strict=True)
    return lesser_half(costs) / lesser_half(others)


def ratio(seconds: list[float], others: list[float]) -> float:
    """The median of the ratios in each round: a disturbance of a round affects both numbers."""
    return statistics.median(one / other for one, other in zip(seconds, others, strict=True))


def percentile(milliseconds: Sequence[float], percent: int) -> float:
    """A percentile."""
    return statistics.quantiles(milliseconds, n=100)[percent - 1]


@dataclass(slots=True)
class Results:
    """All measurements of a run; a section that was not run is empty."""

    throughput: list[Timed] = field(default_factory=list)
    latency: list[Delays] = field(default_factory=list)
    memory: list[Endured] = field(default_factory=list)
    core: list[Raced] = field(default_factory=list)
    paced: list[Timed] = field(default_factory=list)
    captured: list[Timed] = field(default_factory=list)
    sockets: list[Passing] = field(default_factory=list)

    def ratio_of(self, timed: Timed, letter: str) -> float:
        """The ratio of the time to that of the contender with this letter, in the same scene."""
        return ratio(timed.seconds, self.beside(timed, letter).seconds)

    def beside(self, timed: Timed, letter: str) -> Timed:
        """The contender with this letter in the same scene."""
        return next(one for one in self.throughput if one.scene == timed.scene and one.letter == letter)

    def paced_pairs(self) -> list[tuple[Timed, Timed]]:
        """Each contender with live streams, paired with mitmproxy alone in the same scene."""
        bare = {one.scene: one for one in self.paced if one.letter == "a"}
        return [(one, bare[one.scene]) for one in self.paced]

    def captured_ratios(self) -> dict[str, Estimate]:
        """The ratio of the processor time with captures, by scene; without scenes whose time is unknown."""
        pairs = zip(self.captured[::2], self.captured[1::2], strict=True)
        return {
            on.scene.name: estimate(on.processor, off.processor, TOGETHER) for off, on in pairs if all(off.processor)
        }

    def socket_ratios(self) -> list[tuple[Passing, float]]:
        """The ratio of the processor time of messages with toolstream to mitmproxy's alone."""
        bare = {one.kind: one.processor for one in self.sockets if SETUPS[one.setup] is None}
        return [(one, ratio(one.processor, bare[one.kind])) for one in self.sockets if SETUPS[one.setup] is not None]

    def added(self, kind: Kind, letter: str, percent: int = 50) -> float:
        """The milliseconds that a contender adds to mitmproxy's time for an event."""
        delays = {one.letter: one for one in self.latency if one.kind is kind}
        return percentile(delays[letter].milliseconds, percent) - percentile(delays["a"].milliseconds, percent)


def report(results: Results) -> Iterator[str]:
    """A table for each section that was run, and one for the targets."""
    for name, title, head, rows in _SECTIONS:
        if getattr(results, name):
            yield f"## {title}\n"
            yield _table(head, rows(results))
    yield "## Targets\n"
    yield _table("target | where | measured | met?", _targets(results))


def _table(head: str, rows: Iterator[Row]) -> str:
    lines: list[Row] = [head.split(" | "), *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join((padded[0], rule, *padded[1:], ""))


def _shown(form: str, *values: float) -> Row:
    return [format(value, form) for value in values]


def _throughput(results: Results) -> Iterator[Row]:
    for one in results.throughput:
        middle, base = statistics.median(one.seconds), results.beside(one, "a")
        yield (
            one.scene.name,
            "no proxy" if one.letter == DIRECT else CONTENDERS[one.letter].name,
            f"{middle:.3f}",
            f"{middle * 1e6 / one.scene.events:.1f}",
            f"{ratio(one.seconds, base.seconds):.2f}",
            f"{min(one.seconds):.3f}..{max(one.seconds):.3f}",
            f"{ratio(one.processor, base.processor):.2f}" if any(one.processor) else "-",
            f"{one.peak:.0f}" if one.peak else "-",
        )


def _paced(results: Results) -> Iterator[Row]:
    for one, bare in results.paced_pairs():
        cost = statistics.median(one.processor) * 1e6 / one.scene.events
        times = f"{ratio(one.processor, bare.processor):.2f}" if all(bare.processor) else "-"
        late = _shown(".2f", _late(one, 50), _late(one, 99), _late(one, 99, after=_START))
        yield one.scene.name, CONTENDERS[one.letter].name, f"{cost:.1f}", times, *late


def _late(timed: Timed, percent: int, after: int = 0) -> float:
    """A percentile of the delays of events, without the first `after` events of each stream."""
    return percentile([delay for stream in timed.late for delay in stream[after:]], percent)


def _captured(results: Results) -> Iterator[Row]:
    ratios = results.captured_ratios()
    for one in results.captured:
        costs = (measure(one.processor) for measure in (min, lesser_half, statistics.median, max))
        times = "1.00" if one.letter == CAPTURED[0] else str(ratios.get(one.scene.name, "-"))
        shown = _shown(".1f", *(cost * 1e6 / one.scene.events for cost in costs))
        yield one.scene.name, CONTENDERS[one.letter].name, *shown, times


def _latency(results: Results) -> Iterator[Row]:
    for one in results.latency:
        added = (results.added(one.kind, one.letter, percent) for percent in (50, 99))
        shown = _shown(".3f", percentile(one.milliseconds, 50), percentile(one.milliseconds, 99), *added)
        yield one.kind, CONTENDERS[one.letter].name, *shown


def _memory(results: Results) -> Iterator[Row]:
    for one in results.memory:
        shown = (one.growth.start, one.growth.grown, one.growth.peak, one.seconds * 1e6 / one.load.events)
        scene = f"{one.load.kind}, {one.load.events} events"
        yield scene, CONTENDERS[one.letter].name, *_shown(".1f", *shown)


def _core(results: Results) -> Iterator[Row]:
    for one in results.core:
        toolstream, sdk, events = statistics.median(one.toolstream), statistics.median(one.sdk), one.load.events
        times, cost = f"{ratio(one.sdk, one.toolstream):.1f}", f"{toolstream * 1e6 / events:.2f}"
        yield (
            f"{one.protocol} {one.load.kind}",
            f"{events}",
            *_shown(",.0f", events / toolstream, events / sdk),
            times,
            cost,
        )


def _sockets(results: Results) -> Iterator[Row]:
    times = {(one.kind, one.setup): times for one, times in results.socket_ratios()}
    for one in results.sockets:
        each = statistics.median(one.processor) / one.messages * 1e6
        beside = times.get((one.kind, one.setup), 1.0)
        yield f"{one.messages} {one.kind}", one.setup, f"{each:.1f}", f"{beside:.2f}", f"{one.mebibytes:.0f}"


_SECTIONS: Final[Sequence[tuple[str, str, str, Callable[[Results], Iterator[Row]]]]] = (
    ("throughput", "Upstream to client, wall time",
     "streams | through | median s | us/event | x (a) | min..max s | cpu x (a) | peak MiB", _throughput),
    ("latency", "One event at a time, idle proxy",
     "stream | through | p50 ms | p99 ms | added p50 | added p99", _latency),
    ("memory", "Memory over one stream, from its twentieth part on",
     "stream | through | start MiB | growth MiB | peak MiB | us/event", _memory),
    ("core", "Reading alone, no proxy",
     "stream | events | toolstream events/s | SDK events/s | x SDK | us/event", _core),
    ("paced", f"Live, {PACE} events/s each: mitmdump's own processor time",
     "streams | through | us/event | x (a) | late p50 ms | late p99 ms | p99 without start", _paced),
    ("captured", "Captures: mitmdump's own processor time, until they are written and it is idle",
     "streams | through | us/event, least | lesser half | median | most | x (h)", _captured),
    ("sockets", "Messages on a WebSocket: mitmdump's own processor time",
     "messages | through | us/message | x mitmproxy | MiB", _sockets),
)  # fmt: skip
"""The name of the results, the title, the header and the rows of each table."""


def _targets(results: Results) -> Iterator[Row]:
    """A row for each target whose section was run: target, scene, measured value, and whether it is met."""
    for kind, letter, other, most in TIMES:
        for one in results.throughput:
            if (one.scene.load.kind, one.letter) == (kind, letter):
                yield _at_most(f"({letter}) <= {most} x ({other})", one.scene.name, results.ratio_of(one, other), most)
    for one, bare in results.paced_pairs():
        scene, letter = one.scene.name, one.letter
        if one is bare:
            continue
        if all(bare.processor):
            times, most = ratio(one.processor, bare.processor), TIMES_LIVE[letter]
            yield _at_most(f"({letter}) <= {most} x (a), live", scene, times, most)
        late = _late(one, 99) / _late(bare, 99)
        yield _at_most(f"({letter}) as late as {TIMES_LATE} x (a), p99", scene, late, TIMES_LATE)
    live = {one.scene.name for one in results.captured if one.scene.load.schedule}
    for scene, found in results.captured_ratios().items():
        if scene in live:
            met = found.times <= TIMES_CAPTURED
            yield _met(f"(i) <= {TIMES_CAPTURED} x (h), live", scene, f"{found} x", met=met)
    for passing, times in results.socket_ratios():
        most = TIMES_SOCKET[passing.setup]
        yield _at_most(f"{passing.setup} <= {most} x mitmproxy, a message", passing.kind, times, most)
    yield from _other_targets(results)


def _other_targets(results: Results) -> Iterator[Row]:
    """The targets that are not a ratio of two contenders."""
    for kind, letter in product(HEALTHY, ("c", "d")) if results.latency else ():
        added, scene = results.added(kind, letter), f"{kind}, one event at a time"
        yield _met(f"({letter}) adds <= {ADDED_MS} ms, p50", scene, f"{added:+.3f} ms", met=added <= ADDED_MS)
    for one in results.memory:
        if one.letter in {"c", "i"}:
            grown, scene = one.growth.grown, f"{one.load.kind}, {one.load.events} events"
            yield _met(f"({one.letter}) grows < {GROWN_MIB} MiB", scene, f"{grown:.1f} MiB", met=grown < GROWN_MIB)
    for raced in results.core:
        if raced.protocol == "openai-chat":
            times, scene = ratio(raced.sdk, raced.toolstream), f"{raced.load.kind}, {raced.load.events} events"
            yield _met(f"reader >= {TIMES_SDK} x openai SDK", scene, f"{times:.1f} x", met=times >= TIMES_SDK)


def _at_most(target: str, scene: str, times: float, most: float) -> Row:
    return _met(target, scene, f"{times:.3f} x", met=times <= most)


def _met(target: str, scene: str, measured: str, *, met: bool) -> Row:
    return target, scene, measured, "yes" if met else "NO"
