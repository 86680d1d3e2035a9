"""Which items of two long sequences are the same, in time that grows with their length."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Final

_COMPARED: Final = 10_000
"""Pairs of items that are compared in one gap, at most; `difflib` needs up to the third power of a gap's length."""


def matched(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of places with equal items, rising in both. Items that are unique in both sequences are matched first."""
    found: list[tuple[int, int]] = []
    begin, first = 0, 0
    for place, at in [*_anchors(one, other), (len(one), len(other))]:
        found += _in_gap(one, other, range(begin, place), range(first, at))
        begin, first = place, at
    return found


def _anchors(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The longest increasing sequence of pairs of items that each sequence has once."""
    counts, theirs = Counter(one), Counter(other)
    places = {item: at for at, item in enumerate(other) if theirs[item] == 1}
    pairs = [(place, places[item]) for place, item in enumerate(one) if counts[item] == 1 and item in places]
    ends: list[int] = []
    """The least last place of an increasing sequence of each length."""
    last: list[int] = []
    """The pair at that end."""
    before: list[int | None] = []
    for number, (_, at) in enumerate(pairs):
        length = bisect_left(ends, at)
        before.append(last[length - 1] if length else None)
        if length == len(ends):
            ends.append(at)
            last.append(number)
        else:
            ends[length], last[length] = at, number
    row: list[tuple[int, int]] = []
    step = last[-1] if last else None
    while step is not None:
        row.append(pairs[step])
        step = before[step]
    return row[::-1]


def _in_gap(
    one: Sequence[Hashable], other: Sequence[Hashable], ours: range, theirs: range
) -> Iterator[tuple[int, int]]:
    """The pairs in two ranges that begin with a pair, perhaps: at their beginnings, at their ends, then between."""
    begin, first, end, last = ours.start, theirs.start, ours.stop, theirs.stop
    while begin < end and first < last and one[begin] == other[first]:
        yield begin, first
        begin, first = begin + 1, first + 1
    tail: list[tuple[int, int]] = []
    while begin < end and first < last and one[end - 1] == other[last - 1]:
        end, last = end - 1, last - 1
        tail.append((end, last))
    if end - begin == last - first:
        rows = zip(range(begin, end), range(first, last), strict=True)
        yield from ((place, at) for place, at in rows if one[place] == other[at])
    elif (end - begin) * (last - first) <= _COMPARED:
        matcher = difflib.SequenceMatcher(None, one[begin:end], other[first:last], autojunk=False)
        for place, at, size in matcher.get_matching_blocks():
            yield from ((begin + place + k, first + at + k) for k in range(size))
    yield from reversed(tail)
