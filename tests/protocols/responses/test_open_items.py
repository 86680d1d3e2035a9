"""Lookup of Responses calls by position, without iterating over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from toolstream_core.calls.open_call import OpenCall
from toolstream_core.model import ABSENT, Fragment, Kind
from toolstream_core.protocols.responses.resolver import CallsOfEvent, OpenCalls


def calls(*indexes: int | None) -> list[OpenCall]:
    """Return calls with these indexes; `None` is no index."""
    return [
        OpenCall(Fragment(index=ABSENT if index is None else index), position) for position, index in enumerate(indexes)
    ]


class Counted(Sequence[OpenCall]):
    """A sequence that counts its reads."""

    def __init__(self, calls: list[OpenCall]) -> None:
        """Wrap these calls."""
        self._calls = calls
        self.reads = 0

    @overload
    def __getitem__(self, at: int) -> OpenCall: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[OpenCall]: ...
    def __getitem__(self, at: int | slice) -> OpenCall | Sequence[OpenCall]:
        """Count a read and return the call."""
        self.reads += 1
        return self._calls[at]

    def __len__(self) -> int:
        """Return the number of calls."""
        return len(self._calls)


def test_the_newest_open_call_is_first() -> None:
    """Open calls of an index, or without one, are found newest first, without closed calls."""
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


def test_reported_calls_are_skipped_once() -> None:
    """The calls that an event has reported are skipped with a limited number of reads."""
    made = Counted(calls(*range(1000)))
    reported = CallsOfEvent()
    for call in list(made):
        assert next(reported.others("", made, 7)) is call
        reported.add(call, 7)
    assert made.reads < 6000
    assert next(reported.others("", made, 8)) is made[0]
