"""What follows arguments that are whole, taken in whatever pieces it comes. Knows JSON only."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.calls.json_text import is_object, meaning
from toolstream_core.calls.markup import is_markup

_SPACE: Final = re.compile(r"\s+")


class Follows(Enum):
    """What it is, as far as it has come."""

    NOTHING = auto()
    SAME = auto()
    """The same arguments again, or the begin of them."""
    MARKUP = auto()
    """Or the begin of it."""
    OTHER = auto()
    """Other arguments, or garbage."""


class Following:
    """Each character is looked at once, but for markup, which is short. May be asked about each earlier time."""

    __slots__ = ("_again", "_at", "_begun", "_kinds", "_squeezed", "opens_at", "whole")

    def __init__(self, whole: str) -> None:
        """`whole`: the arguments that it follows."""
        self.whole = whole
        self._squeezed = _SPACE.sub("", whole)
        self._at = 0
        """How much of the arguments has come again, without white space."""
        self._begun = ""
        """What came since the last time that all of them had."""
        self._kinds = [(0, Follows.NOTHING)]
        """Each kind that it was, and how much of the text had come then."""
        self._again: list[tuple[int, str | None]] = [(0, None)]
        """The same for the last object in it that was whole by itself."""
        self.opens_at: int | None = None
        """How much of the text had come when something else had a brace, as another call's arguments do."""

    @property
    def half(self) -> bool:
        """Whether the arguments have begun again, and are not whole again."""
        return self._kinds[-1][1] is Follows.SAME and self._at > 0

    def kind(self, size: int) -> Follows:
        """What it was when so much of the text had come."""
        return next(kind for since, kind in reversed(self._kinds) if since <= size)

    def again(self, size: int) -> str | None:
        """The last object that was whole by itself then, and may be all that is meant."""
        return next(again for since, again in reversed(self._again) if since <= size)

    def add(self, piece: str, size: int, again: str | None) -> None:
        """Take the next piece; `size`: how much of the text has come with it; `again`: the last object by then."""
        if again != self._again[-1][1]:
            self._again.append((size, again))
        before = self._kinds[-1][1]
        if before is not Follows.OTHER:
            if not piece.strip(WHITE) and before is not Follows.MARKUP:
                return
            self._begun += piece
            kind = Follows.SAME
            if before is Follows.MARKUP or not self._goes_on(_SPACE.sub("", piece)):
                kind = Follows.MARKUP if is_markup(self._begun.lstrip(WHITE)) else Follows.OTHER
            if kind is not before:
                self._kinds.append((size, kind))
            if kind is not Follows.OTHER:
                return
            piece = self._begun
        if self.opens_at is None and "{" in piece:
            self.opens_at = size

    def _goes_on(self, more: str) -> bool:
        """Whether the arguments come again with these characters; in another spelling where they are whole at once."""
        again = self._squeezed
        while more:
            count = min(len(more), len(again) - self._at)
            if not again.startswith(more[:count], self._at):
                same = is_object(self._begun) and meaning(self._begun) == meaning(self.whole)
                self._at, self._begun = (0, "") if same else (self._at, self._begun)
                return same
            more, self._at = more[count:], (self._at + count) % len(again)
            if not self._at:
                self._begun = more
        return True
