"""What the client got in place of each event, aligned by text and by call."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.view.response import ReadResponse


class Alignment:
    """Places the frames that the client got beside those that the provider sent."""

    def __init__(self, ours: ReadResponse, theirs: ReadResponse) -> None:
        """Adds `received` to the events of `ours` that the client got changed, or did not get."""
        self._events = ours.events.objects
        self._numbers = ours.events.numbers
        self._raw = ours.events.raw
        self._theirs = theirs.events
        self._lanes = [_lane(one) for one in ours.events.objects]
        self.numbers: dict[int, int] = {}
        """The number of the provider's event, by the number of the client's."""
        self.changed: set[int] = set()
        """The numbers of the provider's events that the client got otherwise."""
        matcher = difflib.SequenceMatcher(None, ours.events.raw, theirs.events.raw, autojunk=False)
        for tag, begin, end, first, last in matcher.get_opcodes():
            if tag == "equal":
                for place in range(end - begin):
                    self.numbers[self._theirs.numbers[first + place]] = self._numbers[begin + place]
            elif self._events:
                self._differ(begin, end, range(first, last))

    def of(self, number: int | None) -> int | None:
        """The number of the provider's event, of one as the client got it."""
        return None if number is None else self.numbers.get(number, number)

    def _differ(self, begin: int, end: int, frames: Sequence[int]) -> None:
        """The provider's events from `begin` to `end` came as these frames; those of a call stand at its last event."""
        if begin == end:
            begin, end = max(0, begin - 1), max(1, begin)
            if "received" not in self._events[begin]:
                self._received(begin).append(self._raw[begin].decode("utf-8", "replace"))
        rows = range(begin, end)
        for row in rows:
            self._received(row)
        last = {lane: row for row in rows if (lane := self._lanes[row])}
        same, at = len(rows) == len(frames), begin
        for place, frame in enumerate(frames):
            at = begin + place if same else max(at, last.get(_lane(self._theirs.objects[frame]), at))
            self._received(at).append(self._theirs.raw[frame].decode("utf-8", "replace"))
            self.numbers[self._theirs.numbers[frame]] = self._numbers[at]

    def _received(self, row: int) -> list[str]:
        self.changed.add(self._numbers[row])
        found: list[str] = self._events[row].setdefault("received", [])
        return found


def _lane(event: dict[str, Any]) -> str:
    """The first call that an event says something of."""
    lanes = (one["lane"] for one in event.get("fragments", ()))
    return next((lane for lane in lanes if lane.startswith("call-")), "")
