"""Escapes and numbers of JSON, character by character."""

from __future__ import annotations

import pytest

from toolstream_core.calls.scanner import NUMBER, WHOLE_NUMBER, escape_with


def escaped(text: str) -> str | None:
    """Return the state of an escape after all characters of `text`."""
    escape: str | None = text[0]
    for character in text[1:]:
        assert escape
        escape = escape_with(escape, character)
    return escape


@pytest.mark.parametrize(
    ("text", "left"),
    [("\\n", ""), ("\\u", "\\u"), ("\\u12a", "\\u12a"), ("\\u12aF", ""), ("\\x", None), ("\\u1g", None)],
)
def test_escapes(text: str, left: str | None) -> None:
    """An escape is complete, incomplete or invalid, as RFC 8259 defines in section 7."""
    assert escaped(text) == left


@pytest.mark.parametrize("number", ["0", "-0", "10", "-1.5", "1e5", "0E-07", "01", "1.", "-", "1e", "1e+"])
def test_numbers(number: str) -> None:
    """A number has no leading zero, and digits after a point and in an exponent (RFC 8259, section 6)."""
    state: str | None = "-"
    for character in number.removeprefix("-"):
        state = NUMBER[state].get(character) if state else None
    assert (state in WHOLE_NUMBER) == (number not in {"01", "1.", "-", "1e", "1e+"})
