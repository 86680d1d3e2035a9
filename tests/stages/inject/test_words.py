"""Argument texts as broken providers send them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from toolstream_core.model import Fragment
from toolstream_core.protocols.anthropic.resolver import AnthropicCalls
from toolstream_core.stages.inject.words import (
    complete_arguments,
    deltas,
    double_encoded,
    split_surrogates,
    without_end,
)

if TYPE_CHECKING:
    from toolstream_core.calls.open_call import OpenCall


def call_with(text: str) -> OpenCall:
    """A call to which this came."""
    call = AnthropicCalls().take(Fragment(index=0, id="a", name="f", arguments=text), 0)
    assert call is not None
    return call


@pytest.mark.parametrize(
    ("text", "whole"),
    [("", {}), (" ", {}), ("{}", {}), ('{"x":1}', {"x": 1}), ('{"x":', None), ("[1]", None), ('{"x":1,}', None)],
)
def test_whole_arguments(text: str, whole: dict[str, int] | None) -> None:
    """Nothing means no arguments; what is not an object, or not yet, is `None`."""
    assert complete_arguments(call_with(text)) == whole


def test_parts_of_double_encoded_arguments_join_to_a_string() -> None:
    """Whose text they are."""
    parts = ['{"a":', '"\\n"', "}"]
    joined = "".join(double_encoded(one, first=one is parts[0], last=one is parts[2]) for one in parts)
    assert json.loads(joined) == "".join(parts)


def test_surrogates_are_halves_of_one_character() -> None:
    """Only the first is cut; a text without any is not."""
    halves = split_surrogates("a😀b😀")
    assert halves == ("a\ud83d", "\ude00b😀")
    assert split_surrogates("aé") is None


def test_the_end_goes_with_what_follows_it() -> None:
    """White space behind the brace is no end."""
    assert without_end('{"x":1} \n') == '{"x":1'


def test_pieces_join_to_the_text() -> None:
    """None is longer than asked for, and none is empty."""
    assert deltas("abcdefgh", 3) == ["abc", "def", "gh"]
    assert deltas("") == []
