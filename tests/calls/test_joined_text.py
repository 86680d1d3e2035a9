"""Pieces are joined, however many there are."""

from __future__ import annotations

from toolstream_core.calls.arguments import JoinedText


def test_pieces_are_joined_in_order() -> None:
    """Also where they are read in between."""
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


def test_the_last_part_is_found_behind_others_only() -> None:
    """A text that is all that came ends nothing."""
    text = JoinedText()
    text.append("ab")
    assert (text.ends_in("b"), text.ends_in("ab")) == (True, False)
    text.append("cd")
    assert (text.ends_in("bcd"), text.ends_in("abcd"), text.ends_in("bc")) == (True, False, False)
