"""The frames that the client got in place of each event, aligned by text and by call in linear time."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Final

from toolstream_core.view.response import ReadResponse

_COMPARED: Final = 10_000
"""Maximum number of compared pairs in a gap; `difflib` needs up to the third power of a gap's length."""


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


class Alignment:
    """Aligns the frames that the client received with those that the provider sent."""

    def __init__(self, ours: ReadResponse, theirs: ReadResponse) -> None:
        self._numbers = [one.number for one in ours.events.frames]
        self._texts = ours.events.texts
        self._theirs = theirs.events
        self._their_numbers = [one.number for one in theirs.events.frames]
        self._lanes = [_lane(one) for one in ours.events.objects]
        self.numbers: dict[int, int] = {}
        """The number of the provider's event, by the number of the client's."""
        self.received: dict[int, list[int]] = {}
        """By place of the provider's event: the places of the frames that the client got instead, if it got any."""
        begin = first = 0
        for place, at in [*matched(self._texts, self._theirs.texts), (len(self._texts), len(self._theirs.texts))]:
            if begin < place:
                self._differ(range(begin, place), range(first, at))
            elif first < at and self._texts:
                self._added(begin, range(first, at))
            if place < len(self._texts):
                self.numbers[self._their_numbers[at]] = self._numbers[place]
            begin, first = place + 1, at + 1

    @property
    def changed(self) -> set[int]:
        """The numbers of the provider's events that were changed for the client."""
        return {self._numbers[row] for row in self.received}

    def of(self, number: int | None) -> int | None:
        """The number of the provider's event, for the number of the client's."""
        return None if number is None else self.numbers.get(number, number)

    def objects(self) -> dict[int, dict[str, Any]]:
        """By place of the provider's event, the document's entries of the frames that the client got instead."""
        return {row: self._object(frames) for row, frames in self.received.items()}

    def _object(self, frames: Sequence[int]) -> dict[str, Any]:
        events = [self._their_numbers[at] for at in frames if "quiet" not in self._theirs.objects[at]]
        return {"received": [self._theirs.texts[at] for at in frames], "received_events": events}

    def _differ(self, rows: range, frames: range) -> None:
        """Note that these events were replaced by these frames; those of a call are at its last event."""
        self.received.update((row, []) for row in rows)
        last = {lane: row for row in rows if (lane := self._lanes[row])}
        same, at = len(rows) == len(frames), rows.start
        for place, frame in enumerate(frames):
            at = rows[place] if same else max(at, last.get(_lane(self._theirs.objects[frame]), at))
            self.received[at].append(frame)
            self.numbers[self._their_numbers[frame]] = self._numbers[at]

    def _added(self, before: int, frames: range) -> None:
        """The client got these frames before an event: they are at the one before it, or at the first one."""
        row = max(0, before - 1)
        known = self.received.get(row, [frames.start - 1 if before else frames.stop])
        self.received[row] = [*known, *frames] if before else [*frames, *known]
        self.numbers.update(dict.fromkeys(self._their_numbers[frames.start : frames.stop], self._numbers[row]))


def _lane(event: dict[str, Any]) -> str:
    """The first call of an event."""
    lanes = (one["lane"] for one in event.get("fragments", ()))
    return next((lane for lane in lanes if lane.startswith("call-")), "")
