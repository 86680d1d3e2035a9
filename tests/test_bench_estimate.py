"""What a ratio of costs is taken for, and how far it is trusted."""

from __future__ import annotations

import random
from itertools import batched

from benchlib.tables import estimate, lesser_half


def test_the_lesser_half() -> None:
    """The turn in the middle is of it."""
    assert lesser_half([9.0, 1.0, 2.0]) == 1.5
    assert lesser_half([4.0, 1.0, 3.0, 90.0]) == 2.0


def test_turns_that_cost_the_same() -> None:
    """There is nothing to doubt."""
    assert str(estimate([2.3] * 5, [2.0] * 5)) == "1.15 ± 0.00"


def test_the_spread_is_that_of_other_measurements() -> None:
    """Of twenty that measure the same thing twice, nearly all find 1 within their own spread."""
    chance = random.Random(1)
    turns = [[1 + chance.expovariate(5) for _ in range(42)] for _ in range(40)]
    found = [estimate(costs, others) for costs, others in batched(turns, 2)]
    assert sum(abs(one.times - 1) <= one.spread for one in found) >= 17


def test_processes_that_differ() -> None:
    """Turns of one process are not so many measurements: the spread is greater where each process is another's."""
    chance = random.Random(1)
    costs, others = ([pace for pace in (chance.uniform(1, 1.2) for _ in range(14)) for _ in range(3)] for _ in range(2))
    assert estimate(costs, others, 3).spread > 1.3 * estimate(costs, others).spread
