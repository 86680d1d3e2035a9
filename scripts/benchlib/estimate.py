"""How many times as much one contender costs as another, and how far to trust that. Knows numbers only."""

from __future__ import annotations

import random
import statistics
from itertools import batched, chain
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


def estimate(costs: Sequence[float], others: Sequence[float], together: int = 1) -> Estimate:
    """Of what each turn cost; of so many turns `together`, each contender had the same process.

    The spread is that of as many processes, with their turns, drawn from these again and again.
    """
    groups = list(batched(zip(costs, others, strict=True), together))
    chance = random.Random(_SEED)
    drawn = [_times([*chain(*chance.choices(groups, k=len(groups)))]) for _ in range(_DRAWS)]
    return Estimate(_times([*chain(*groups)]), 2 * statistics.stdev(drawn))


def _times(pairs: Sequence[tuple[float, float]]) -> float:
    costs, others = zip(*pairs, strict=True)
    return lesser_half(costs) / lesser_half(others)
