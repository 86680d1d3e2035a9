"""Indexes behind the start of a second message."""

from __future__ import annotations

import pytest

from toolstream_core.repair.blocks.stage import EarlierPlaces

APART = 100
MOVED = {1: 0, 2: 1, None: 1}
"""The first message's block of index 1 is the client's first, that of index 2 the second."""


@pytest.mark.parametrize(
    ("started", "index", "place"),
    [
        ([], 1, 0),
        ([], 2, 1),
        ([], None, 1),
        ([], 0, APART),
        ([], 3, None),
        ([0], 0, None),
        ([0], 1, APART + 1),
        ([0], 2, 1),
        ([1], 1, None),
        ([1], 2, APART + 2),
        ([1], None, APART),
        ([0, 1, 2], 2, None),
    ],
)
def test_nothing_comes_under_an_index_that_something_else_has(
    started: list[int], index: int | None, place: int | None
) -> None:
    """What the first message started keeps its place until the second starts something there."""
    places = EarlierPlaces(MOVED, APART)
    assert [places.place(one, starts=True) for one in started] == [None] * len(started)
    assert places.place(index, starts=False) == place


def test_nothing_changes_where_nothing_was_moved() -> None:
    """Whatever index comes."""
    places = EarlierPlaces({}, APART)
    assert [places.place(one, starts=False) for one in (0, 1, None)] == [None, None, None]
