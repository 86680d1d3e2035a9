"""Joined text."""

from __future__ import annotations

from toolstream_core.calls.arguments import JoinedText


def test_fragments_are_joined_in_order() -> None:
    """Fragments are joined in order, also if the text is read in between."""
    text = JoinedText()
    assert text.text() == ""
    for number in range(1000):
        text.append(str(number))
        if len(text) == text.full:
            text.merge()
            assert len(text) < text.full
        if number == 700:
            assert text.text().endswith("699700")
    assert text.text() == "".join(map(str, range(1000)))


def test_ends_in_needs_text_before_the_suffix() -> None:
    """`ends_in` is true for a proper suffix only."""
    text = JoinedText()
    text.append("ab")
    assert (text.ends_in("b"), text.ends_in("ab")) == (True, False)
    text.append("cd")
    assert (text.ends_in("bcd"), text.ends_in("abcd"), text.ends_in("bc")) == (True, False, False)
