"""The same items of two sequences are found, also in long ones."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from toolstream_core.view.received import matched


@pytest.mark.parametrize(
    ("one", "other", "pairs"),
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
def test_matched(one: str, other: str, pairs: list[tuple[int, int]]) -> None:
    """In order."""
    assert matched(one, other) == pairs


def test_pairs_rise_and_are_equal() -> None:
    """In any two sequences."""
    chance = random.Random(1)
    for _ in range(300):
        one, other = ("".join(chance.choices("abcdef", k=chance.randrange(12))) for _ in range(2))
        pairs = matched(one, other)
        assert all(one[place] == other[at] for place, at in pairs)
        assert all(pair[0] < after[0] and pair[1] < after[1] for pair, after in pairwise(pairs))


def test_long_sequences_of_few_items() -> None:
    """Ten thousand, every second one changed."""
    one = ["k", "a"] * 5000
    assert matched(one, ["k", "b"] * 5000) == [(place, place) for place in range(0, 10_000, 2)]
    assert len(matched(one, ["k", "b"] * 4000)) <= 8000
