"""Calls of a Responses answer by where they stand, without going through all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from toolstream_core.calls.open_call import OpenCall
from toolstream_core.model import ABSENT, Fragment, Kind
from toolstream_core.protocols.responses.resolver import CallsOfEvent, OpenCalls


def calls(*indexes: int | None) -> list[OpenCall]:
    """Calls at places, `None` for none."""
    return [
        OpenCall(Fragment(index=ABSENT if index is None else index), position) for position, index in enumerate(indexes)
    ]


class Counted(Sequence[OpenCall]):
    """Counts how often it is looked into."""

    def __init__(self, calls: list[OpenCall]) -> None:
        """Of these calls."""
        self._calls = calls
        self.looks = 0

    @overload
    def __getitem__(self, at: int) -> OpenCall: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[OpenCall]: ...
    def __getitem__(self, at: int | slice) -> OpenCall | Sequence[OpenCall]:
        """The call there."""
        self.looks += 1
        return self._calls[at]

    def __len__(self) -> int:
        """How many."""
        return len(self._calls)


def test_the_newest_open_one_comes_first() -> None:
    """At its index or at none, and what is closed not at all."""
    opened = OpenCalls()
    one, two, three, four, other = made = calls(0, None, 0, 1, 0)
    other.kind = Kind.CUSTOM
    for call in made:
        opened.add(call)
    assert list(opened.at(0, Kind.FUNCTION)) == [three, two, one]
    assert list(opened.newest(Kind.FUNCTION)) == [four, three, two, one]
    two.closed = four.closed = True
    assert list(opened.at(0, Kind.FUNCTION)) == [three, one]
    assert list(opened.newest(Kind.FUNCTION)) == [three, one]
    assert list(opened.newest(Kind.CUSTOM)) == [other]


def test_what_an_event_has_said_is_passed_over_once() -> None:
    """However many calls it says, in order."""
    made = Counted(calls(*range(1000)))
    reported = CallsOfEvent()
    for call in list(made):
        assert next(reported.others("", made, 7)) is call
        reported.add(call, 7)
    assert made.looks < 6000
    assert next(reported.others("", made, 8)) is made[0]
