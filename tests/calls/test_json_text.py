"""Texts that are JSON as a whole, and texts that are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.calls.test_scanner import NOISE, TEXTS, parses
from toolstream_core.calls.json_text import end_at_once, is_json
from toolstream_core.calls.scanner import JsonScanner


@given(TEXTS, NOISE, st.integers(0, 200), st.integers(0, 3))
def test_what_is_no_json(text: str, noise: str, at: int, drop: int) -> None:
    """Text with something wrong in it is JSON exactly where `json.loads` says so."""
    wrong = text[:at] + noise + text[at + drop :]
    assert is_json(text)
    assert is_json(wrong) is parses(wrong)


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", '{"a":NaN}', '{"a":-Infinity}', "01", "1.", "-", "+1", "[1,]", "\ufeff1"]
)
def test_no_json(text: str) -> None:
    """What some parsers take and the standard does not."""
    assert not is_json(text)


@pytest.mark.parametrize("inner", ["9" * 5000, "1e400", '"\\ud83d"', "[" * 5000 + "]" * 5000])
def test_what_python_refuses_is_json_all_the_same(inner: str) -> None:
    """Numbers of any length, and any depth."""
    assert is_json(f'{{"a":{inner}}}')


@given(TEXTS.map(lambda text: f'{{"a":{text}}}'), st.sampled_from(["", "}", "{}", '{"a":1}', "<|x|>}"]))
def test_an_object_ends_where_the_scanner_says(text: str, behind: str) -> None:
    """Whatever follows it."""
    assert end_at_once(text + behind) == JsonScanner().feed(text + behind) == len(text)


@pytest.mark.parametrize("text", ["", " {}", "[{}]", '{"a":{}', '{"a":NaN}', "{a}", '{"a":1}x'])
def test_what_is_not_seen_at_once(text: str) -> None:
    """Half an object, none, or one with something else at its end: that is the scanner's."""
    assert end_at_once(text) == 0
