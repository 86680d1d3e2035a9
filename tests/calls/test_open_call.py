"""Completeness of a call while its fragments are received."""

from __future__ import annotations

import pytest

from toolstream_core.calls import OpenCall
from toolstream_core.model import Fragment, Kind


def opened(text: str, kind: Kind = Kind.FUNCTION, *, ended: bool = False) -> OpenCall:
    """Return a call with these arguments."""
    call = OpenCall(Fragment(kind=kind), 0)
    call.arguments.add(text)
    call.ended = ended
    return call


@pytest.mark.parametrize(
    ("text", "while_open", "when_over"),
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
def test_completeness_of_a_function_call(text: str, *, while_open: bool, when_over: bool) -> None:
    """An open call is complete with an object only; an ended call with any JSON or without arguments."""
    assert opened(text).is_complete() is while_open
    assert opened(text, ended=True).is_complete() is when_over


def test_a_call_with_required_parameters_needs_arguments() -> None:
    """An ended call of a tool with required parameters is incomplete without arguments."""
    assert not opened("", ended=True).is_complete(may_be_empty=False)


def test_the_start_input_counts_without_deltas() -> None:
    """Without deltas, the input in a block's start is the call's arguments."""
    call = opened("")
    call.start_input = '{"a":1}'
    assert call.intended_arguments() == ('{"a":1}', True)
    call.start_input = "2"
    assert call.intended_arguments() == ("2", False)


@pytest.mark.parametrize("kind", [Kind.CUSTOM, Kind.SERVER])
def test_completeness_of_other_kinds(kind: Kind) -> None:
    """A custom or server call is complete when it has ended."""
    assert not opened("*** Begin", kind).is_complete()
    assert opened("*** Begin", kind, ended=True).is_complete()
