"""Recognition of JSON texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.calls.test_scanner import NOISE, TEXTS, parses
from toolstream_core.calls.json_text import end_at_once, is_json
from toolstream_core.calls.scanner import JsonScanner


@given(TEXTS, NOISE, st.integers(0, 200), st.integers(0, 3))
def test_is_json_agrees_with_json_loads(text: str, noise: str, at: int, drop: int) -> None:
    """A damaged text is JSON exactly if `json.loads` parses it."""
    damaged = text[:at] + noise + text[at + drop :]
    assert is_json(text)
    assert is_json(damaged) is parses(damaged)


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", '{"a":NaN}', '{"a":-Infinity}', "01", "1.", "-", "+1", "[1,]", "\ufeff1"]
)
def test_nonstandard_values_are_not_json(text: str) -> None:
    """Values that only some parsers accept are not JSON."""
    assert not is_json(text)


@pytest.mark.parametrize("inner", ["9" * 5000, "1e400", '"\\ud83d"', "[" * 5000 + "]" * 5000])
def test_values_beyond_python_s_limits_are_json(inner: str) -> None:
    """Long numbers, large exponents, lone surrogates and deep nesting are JSON."""
    assert is_json(f'{{"a":{inner}}}')


@given(TEXTS.map(lambda text: f'{{"a":{text}}}'), st.sampled_from(["", "}", "{}", '{"a":1}', "<|x|>}"]))
def test_end_at_once_agrees_with_the_scanner(text: str, rest: str) -> None:
    """`end_at_once` finds the end of an object that the scanner finds, for any text after it."""
    assert end_at_once(text + rest) == JsonScanner().feed(text + rest) == len(text)


@pytest.mark.parametrize("text", ["", " {}", "[{}]", '{"a":{}', '{"a":NaN}', "{a}", '{"a":1}x'])
def test_end_at_once_finds_only_complete_objects(text: str) -> None:
    """`end_at_once` is 0 for an incomplete object, for other text, and for an object with text after it."""
    assert end_at_once(text) == 0
