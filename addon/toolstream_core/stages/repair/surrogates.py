"""Surrogate pairs of which each half comes in a fragment of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.arguments import SPLIT_SURROGATE

HALF_BEGINS: Final = "\ud800"
"""The first of the characters that are half of a pair."""

if TYPE_CHECKING:
    from toolstream_core.stages.repair.emitted import Judge


class Surrogates:
    """Keeps the first half of a pair until the next fragment."""

    __slots__ = ("kept",)

    def __init__(self) -> None:
        """Nothing is kept."""
        self.kept = ""

    def changed(self, text: str, judge: Judge, *, inside_value: bool) -> str:
        """The next fragment with what was kept; `inside_value`: arguments go on behind it, so its end may be half."""
        text = self.let_go() + text
        half = inside_value and bool(text) and "\ud800" <= text[-1] <= "\udbff"
        if half and judge(SPLIT_SURROGATE, "a delta ends with half of a surrogate pair"):
            text, self.kept = text[:-1], text[-1]
        return text

    def let_go(self) -> str:
        """What was kept, where nothing follows it."""
        kept, self.kept = self.kept, ""
        return kept
