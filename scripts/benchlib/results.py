"""What was measured, and what the tables make of it. Knows numbers only."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchlib.capturing import TOGETHER
from benchlib.estimate import Estimate, estimate

if TYPE_CHECKING:
    from benchlib.core import Raced
    from benchlib.endurance import Endured
    from benchlib.latency import Delays
    from benchlib.odd import Oddity
    from benchlib.provided import Lateness
    from benchlib.sockets import Passing
    from benchlib.streams import Kind
    from benchlib.throughput import Timed
    from benchlib.viewing import Viewed


@dataclass(slots=True)
class Results:
    """All that one run measured; a section that did not run is empty."""

    throughput: list[Timed] = field(default_factory=list)
    latency: list[Delays] = field(default_factory=list)
    memory: list[Endured] = field(default_factory=list)
    core: list[Raced] = field(default_factory=list)
    odd: list[Oddity] = field(default_factory=list)
    provided: list[Lateness] = field(default_factory=list)
    paced: list[Timed] = field(default_factory=list)
    captured: list[Timed] = field(default_factory=list)
    sockets: list[Passing] = field(default_factory=list)
    view: list[Viewed] = field(default_factory=list)

    def ratios(self, kind: Kind, letter: str, other: str) -> dict[str, float]:
        """How many times as long as `other` a contender takes, in each scene of that kind."""
        timed = [one for one in self.throughput if one.scene.load.kind is kind and one.letter == letter]
        return {one.scene.name: ratio(one.seconds, self._beside(one, other).seconds) for one in timed}

    def paced_ratios(self) -> dict[str, float]:
        """How many times bare mitmproxy's processor time an event takes, by scene; none where nobody counts."""
        bare, ours = ([one for one in self.paced if (one.letter == "a") is plain] for plain in (True, False))
        pairs = zip(bare, ours, strict=True)
        return {one.scene.name: ratio(other.processor, one.processor) for one, other in pairs if all(one.processor)}

    def captured_ratios(self) -> dict[str, Estimate]:
        """How many times the processor time it takes with captures, by scene; none where nobody counts."""
        pairs = zip(self.captured[::2], self.captured[1::2], strict=True)
        return {
            on.scene.name: estimate(on.processor, off.processor, TOGETHER) for off, on in pairs if all(off.processor)
        }

    def added(self, kind: Kind, letter: str, percent: int = 50) -> float:
        """Milliseconds that a contender adds to what plain streaming takes for one event."""
        delays = {one.letter: one for one in self.latency if one.kind is kind}
        return delays[letter].percentile(percent) - delays["a"].percentile(percent)

    def baseline(self, timed: Timed) -> Timed:
        """What plain streaming took in the same scene."""
        return self._beside(timed, "a")

    def _beside(self, timed: Timed, letter: str) -> Timed:
        return next(one for one in self.throughput if one.scene == timed.scene and one.letter == letter)


def ratio(seconds: list[float], others: list[float]) -> float:
    """Median of the ratios within each round: what slowed a whole round down is in both of its numbers."""
    return statistics.median(one / other for one, other in zip(seconds, others, strict=True))
