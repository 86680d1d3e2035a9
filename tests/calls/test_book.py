"""What every resolver shares: phantoms fall away, positions are dense, the number of calls is bounded."""

from __future__ import annotations

import pytest

from tests.calls.fragments import delta
from toolstream_core.calls import ChatCalls, book
from toolstream_core.calls.book import known, same_arguments
from toolstream_core.model import ABSENT, Fragment, Phase


@pytest.mark.parametrize("nothing", [ABSENT, None, "", "null", "None", "undefined"])
def test_nothing_is_known(nothing: object) -> None:
    """Absent, null, empty and a stringified null say nothing."""
    assert known(nothing) == ""  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("{}", "{}", True),
        ('{"a": 1}', '{"a":1}', True),
        ('{"a":1}', '{"a":2}', False),
        ("{", "{", True),
        ("{", "[", False),
    ],
)
def test_same_arguments(one: str, other: str, same: bool) -> None:
    """Equal to the letter or as JSON."""
    assert same_arguments(one, other) is same


def test_positions_are_dense_without_phantoms() -> None:
    """An entry that said nothing leaves no hole."""
    calls = ChatCalls()
    for number, fragment in enumerate([delta(index=0), delta("{}", 1, "a", "f"), delta("{}", 2, "b", "g")]):
        calls.take(fragment, number)
    assert [call.position for call in calls.resolved()] == [0, 1]


def test_calls_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that opens calls without end fills no memory; it is noted."""
    monkeypatch.setattr(book, "MAX_CALLS", 3)
    calls = ChatCalls()
    for number in range(50):
        calls.take(delta("{}", number, f"id{number}", "f"), number)
    assert calls.overflowed
    assert len(calls.resolved()) == 3


def test_whole_fills_only_what_is_not_whole() -> None:
    """What a later phase says does not replace arguments that came whole."""
    calls = ChatCalls()
    calls.take(delta('{"x":1}', 0, "a", "f"), 0)
    calls.take(Fragment(id="a", name="f", arguments='{"x":2}', phase=Phase.WHOLE), 1)
    assert calls.resolved()[0].arguments == '{"x":1}'
