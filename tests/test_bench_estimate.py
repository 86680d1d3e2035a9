"""The estimate of a cost ratio, and its spread."""

from __future__ import annotations

import random
from itertools import batched

from benchlib.tables import estimate, lesser_half


def test_the_mean_of_the_lesser_half() -> None:
    """The mean of the lesser half includes the median of an odd number of values."""
    assert lesser_half([9.0, 1.0, 2.0]) == 1.5
    assert lesser_half([4.0, 1.0, 3.0, 90.0]) == 2.0


def test_equal_costs_have_no_spread() -> None:
    """The ratio of constant costs has a spread of 0."""
    assert str(estimate([2.3] * 5, [2.0] * 5)) == "1.15 ± 0.00"


def test_the_spread_covers_repeated_measurements() -> None:
    """For twenty pairs of equal distributions, the spread of nearly all ratios includes 1."""
    dice = random.Random(1)
    turns = [[1 + dice.expovariate(5) for _ in range(42)] for _ in range(40)]
    found = [estimate(costs, others) for costs, others in batched(turns, 2)]
    assert sum(abs(one.times - 1) <= one.spread for one in found) >= 17


def test_differences_between_processes_increase_the_spread() -> None:
    """If processes differ, the spread is greater than for independent turns."""
    dice = random.Random(1)
    costs, others = ([pace for pace in (dice.uniform(1, 1.2) for _ in range(14)) for _ in range(3)] for _ in range(2))
    assert estimate(costs, others, 3).spread > 1.3 * estimate(costs, others).spread
