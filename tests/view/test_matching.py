"""Equal items of two sequences are found, also in long ones."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from toolstream_core.view.received import matched


@pytest.mark.parametrize(
    ("first", "second", "pairs"),
    [
        ("", "", []),
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("abc", "axc", [(0, 0), (2, 2)]),
        ("abc", "abxc", [(0, 0), (1, 1), (2, 3)]),
        ("abc", "xabc", [(0, 1), (1, 2), (2, 3)]),
        ("abcd", "ad", [(0, 0), (3, 1)]),
        ("k1k2k3", "kxkykz", [(0, 0), (2, 2), (4, 4)]),
        ("abcde", "edcba", [(4, 0)]),
    ],
)
def test_matched(first: str, second: str, pairs: list[tuple[int, int]]) -> None:
    """The pairs are in order."""
    assert matched(first, second) == pairs


def test_pairs_rise_and_are_equal() -> None:
    """This holds for random sequences."""
    chance = random.Random(1)
    for _ in range(300):
        first, second = ("".join(chance.choices("abcdef", k=chance.randrange(12))) for _ in range(2))
        pairs = matched(first, second)
        assert all(first[place] == second[at] for place, at in pairs)
        assert all(pair[0] < after[0] and pair[1] < after[1] for pair, after in pairwise(pairs))


def test_long_sequences_of_few_items() -> None:
    """Every second of ten thousand items differs."""
    first = ["k", "a"] * 5000
    assert matched(first, ["k", "b"] * 5000) == [(place, place) for place in range(0, 10_000, 2)]
    assert len(matched(first, ["k", "b"] * 4000)) <= 8000
