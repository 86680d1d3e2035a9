"""Helpers of injectors that change argument text."""

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
    """Return a call with this argument text."""
    call = AnthropicCalls().take(Fragment(index=0, id="a", name="f", arguments=text), 0)
    assert call is not None
    return call


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", {}), (" ", {}), ("{}", {}), ('{"x":1}', {"x": 1}), ('{"x":', None), ("[1]", None), ('{"x":1,}', None)],
)
def test_complete_arguments(text: str, expected: dict[str, int] | None) -> None:
    """Complete arguments are parsed, empty text is no arguments, and other text is `None`."""
    assert complete_arguments(call_with(text)) == expected


def test_double_encoded_fragments_join_to_a_string() -> None:
    """Doubly encoded fragments join to a JSON string of the arguments."""
    parts = ['{"a":', '"\\n"', "}"]
    joined = "".join(double_encoded(one, first=one is parts[0], last=one is parts[2]) for one in parts)
    assert json.loads(joined) == "".join(parts)


def test_the_first_surrogate_pair_is_split() -> None:
    """Only the first surrogate pair of a text is split, and a text without one is not."""
    parts = split_surrogates("a😀b😀")
    assert parts == ("a\ud83d", "\ude00b😀")
    assert split_surrogates("aé") is None


def test_the_closing_brace_is_removed() -> None:
    """The closing brace is removed with the whitespace after it."""
    assert without_end('{"x":1} \n') == '{"x":1'


def test_a_text_is_split_into_deltas() -> None:
    """A text is split into non-empty deltas, at most the given number."""
    assert deltas("abcdefgh", 3) == ["abc", "def", "gh"]
    assert deltas("") == []
