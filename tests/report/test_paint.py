"""Colour is used only on request, and foreign text is quoted."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.printable import printable, quoted, word
from toolstream_core.report.columns import STYLES, colour, plain, wants_colour


@pytest.mark.parametrize(
    ("terminal", "environment", "wanted"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_wants_colour(terminal: bool, environment: dict[str, str], wanted: bool) -> None:
    """Terminals get colour, unless the environment refuses it."""
    assert wants_colour(terminal=terminal, environment=environment) is wanted


@pytest.mark.parametrize("style", STYLES)
def test_styles(style: str) -> None:
    """Each style resets the colour at its end. Other styles have no colour."""
    assert {*STYLES} == {"ok", "warning", "error"}
    assert colour("note", "x") == "x"
    assert colour(style, "x") == f"{STYLES[style]}x\x1b[0m"
    assert plain(style, "x") == "x"


@given(st.text(max_size=50))
def test_quoted_is_printable_json(text: str) -> None:
    """The quoted text is its JSON, without control characters."""
    shown = quoted(text, 50)
    assert json.loads(shown) == text
    assert shown.isprintable()


def test_printable() -> None:
    """Only characters that control a terminal are escaped."""
    assert printable("a\x1bé") == "a\\u001b\\u00e9"
    assert printable("aé") == "aé"


def test_quoted_is_shortened() -> None:
    """The left out characters are counted."""
    assert quoted("abcdef", 4) == '"abcd"… (+2 characters)'


@pytest.mark.parametrize(
    ("text", "shown"), [("gpt-4o", "gpt-4o"), ("a b", '"a b"'), ("a\x1b", '"a\\u001b"'), ("é", "é")]
)
def test_word(text: str, shown: str) -> None:
    """A single word has no quotes."""
    assert word(text) == shown
