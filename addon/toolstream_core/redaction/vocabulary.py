"""The words of a text, in which signs of secrets are looked for: long texts say most of their words often."""

from __future__ import annotations

from typing import Final

_SHORT: Final = 4096
"""Bytes below which the text itself is searched as fast."""


def vocabulary(text: bytes) -> bytes:
    """Each word of a text once. A sign without white space is in it if it is in the text."""
    return text if len(text) < _SHORT else b" ".join(set(text.split()))


def has(words: bytes, signs: tuple[bytes, ...]) -> bool:
    """Whether one of these is in a text."""
    for sign in signs:  # noqa: SIM110 - a generator costs more than the search itself
        if sign in words:
            return True
    return False
