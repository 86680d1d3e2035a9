"""How many times as much one contender costs as another, and how far to trust that. Knows numbers only."""

from __future__ import annotations

import random
import statistics
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_DRAWS: Final = 400
_SEED: Final = 1


class Estimate(NamedTuple):
    """A ratio of two costs."""

    times: float
    spread: float
    """Two standard deviations: nineteen of twenty such measurements are no further from what is so."""

    def __str__(self) -> str:
        """As the tables say it."""
        return f"{self.times:.2f} ± {self.spread:.2f}"


def lesser_half(costs: Sequence[float]) -> float:
    """The mean of the lesser half: of the turns that others on the machine disturbed least."""
    ordered = sorted(costs)
    return statistics.fmean(ordered[: (len(ordered) + 1) // 2])


def estimate(costs: Sequence[float], others: Sequence[float]) -> Estimate:
    """Of what each turn cost; the spread is that of as many turns drawn from these, again and again."""
    pairs = list(zip(costs, others, strict=True))
    chance = random.Random(_SEED)
    drawn = [_times(chance.choices(pairs, k=len(pairs))) for _ in range(_DRAWS)]
    return Estimate(_times(pairs), 2 * statistics.stdev(drawn))


def _times(pairs: Sequence[tuple[float, float]]) -> float:
    costs, others = zip(*pairs, strict=True)
    return lesser_half(costs) / lesser_half(others)
