"""One call while its fragments come: whether it is whole, whatever its kind."""

from __future__ import annotations

import pytest

from toolstream_core.calls import OpenCall
from toolstream_core.model import Fragment, Kind


def opened(text: str, kind: Kind = Kind.FUNCTION, *, over: bool = False) -> OpenCall:
    """A call with these arguments."""
    call = OpenCall(Fragment(kind=kind), 0)
    call.arguments.add(text)
    call.over = over
    return call


@pytest.mark.parametrize(
    ("text", "by_itself", "when_over"),
    [
        ('{"a":1}', True, True),
        ('"{\\"a\\":1}"', True, True),
        ('{}{"a":1}', True, True),
        ('{"a":1}{"a":1}', True, True),
        ("2", False, True),
        ("[1]", False, True),
        ('"x"', False, True),
        ("", False, True),
        ("null", False, True),
        ('{"a":', False, False),
        ('{"a":1}{"b":2}', False, False),
    ],
)
def test_whole(text: str, *, by_itself: bool, when_over: bool) -> None:
    """By itself only an object is; when it is over, whatever is JSON, or nothing."""
    assert opened(text).is_complete() is by_itself
    assert opened(text, over=True).is_complete() is when_over


def test_nothing_may_be_too_little() -> None:
    """For a tool that needs arguments."""
    assert not opened("", over=True).is_complete(may_be_empty=False)


def test_what_opened_it_counts_where_nothing_follows() -> None:
    """Arguments of a block's start."""
    call = opened("")
    call.start_input = '{"a":1}'
    assert call.intended_arguments() == ('{"a":1}', True)
    call.start_input = "2"
    assert call.intended_arguments() == ("2", False)


@pytest.mark.parametrize("kind", [Kind.CUSTOM, Kind.SERVER])
def test_other_kinds(kind: Kind) -> None:
    """Free text, and what the provider runs, is whole when it is over."""
    assert not opened("*** Begin", kind).is_complete()
    assert opened("*** Begin", kind, over=True).is_complete()
