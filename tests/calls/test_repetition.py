"""Calls that are repeated under their id."""

from __future__ import annotations

import pytest

from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.calls.repetition import MAX_SAME_ID, Compared, SameId, beginning

EARLIER = Compared("grep", '{"a": 1}', '{"a":1}')


@pytest.mark.parametrize(
    ("call", "repeats"),
    [
        (Compared("grep", '{"a": 1}', '{"a":1}'), True),
        (Compared("", '{"a": 1}', '{"a":1}'), True),
        (Compared("find", '{"a": 1}', '{"a":1}'), False),
        (Compared("grep", '{"a": 2}', '{"a":2}'), False),
        (Compared("grep", None, '{"a"', ended=False), None),
        (Compared("grep", None, "", ended=False), None),
        (Compared("grep", None, '{"b"', ended=False), False),
        (Compared("find", None, '{"a"', ended=False), False),
        (Compared("grep", None, '{"a"'), False),
    ],
)
def test_a_call_repeats_an_earlier_one_with_its_name_and_arguments(call: Compared, *, repeats: bool | None) -> None:
    """A call repeats an earlier call with its name and arguments; while incomplete, this may be unknown."""
    assert call.repeats([EARLIER]) is repeats
    assert call.repeats([Compared("other", "{}"), EARLIER]) is repeats
    assert call.repeats([]) is False


def test_it_is_unknown_while_the_earlier_call_is_incomplete() -> None:
    """It is unknown whether a call repeats an earlier call that is incomplete and may become equal."""
    incomplete = Compared("grep", None, '{"a"', ended=False)
    assert Compared("grep", '{"a": 1}', '{"a":1}').repeats([incomplete]) is None
    assert Compared("grep", '{"b": 1}', '{"b":1}').repeats([incomplete]) is False


def test_a_call_does_not_repeat_itself() -> None:
    """A call is compared with other calls of its id, not with itself."""
    calls = SameId[Compared](lambda one: one)
    first, again = Compared("grep", "{}", "{}"), Compared("grep", "{}", "{}")
    assert calls.add("c1", first)
    assert calls.repeats("c1", first) is False
    assert calls.repeats("c1", again) is True
    assert calls.repeats("c2", again) is False


def test_few_calls_of_one_id_are_kept() -> None:
    """Only a limited number of calls of one id is kept and compared."""
    compared = 0

    def compare(number: int) -> Compared:
        nonlocal compared
        compared += 1
        return Compared("grep", str(number))

    calls = SameId(compare)
    added = [calls.add("c1", number) for number in range(1000)]
    assert added == [True, *[False] * 999]
    assert calls.repeats("c1", 5000) is False
    assert compared == MAX_SAME_ID + 1


def test_whitespace_is_ignored() -> None:
    """The beginnings of equal arguments are equal, without whitespace."""
    spaced, dense = ArgumentText(), ArgumentText()
    spaced.add('{ "a":\n1')
    dense.add('{"a":1')
    assert beginning(spaced) == beginning(dense) == '{"a":1'
