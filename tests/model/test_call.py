"""The basic types: absent is neither null nor empty, runs of event numbers, events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.frames import frame
from toolstream_core.model import ABSENT, NOTHING, Absent, Event, EventContent, Runs

if TYPE_CHECKING:
    from toolstream_core.wire.frame import Frame


def test_absent_is_neither_null_nor_empty() -> None:
    """It is false like both."""
    assert not ABSENT
    assert ABSENT is not None
    assert ABSENT is Absent.ABSENT
    assert repr(ABSENT) == "ABSENT"


@given(st.lists(st.integers(0, 60)).map(sorted))
def test_runs_keep_each_number_once(numbers: list[int]) -> None:
    """Rising numbers are returned without repetitions."""
    runs = Runs()
    for number in numbers:
        runs.add(number)
    assert list(runs) == sorted(set(numbers))
    assert len(runs) == len(set(numbers))


def test_runs_cost_little() -> None:
    """A hundred thousand consecutive numbers are two bounds."""
    runs = Runs()
    for number in range(100_000):
        runs.add(number)
    assert len(runs._bounds) == 2


def test_an_event_is_read_once() -> None:
    """Its content is kept."""
    frames = []

    def read(one: Frame) -> EventContent:
        frames.append(one)
        return NOTHING

    event = Event(frame({}), read)
    assert event.content is event.content
    assert len(frames) == 1
