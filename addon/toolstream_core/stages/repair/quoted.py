"""Arguments that begin with a quote: an object within a string, or no arguments of anybody's. Knows JSON only."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.calls.arguments import ArgumentText, Room
from toolstream_core.calls.json_grammar import WHITE, WS
from toolstream_core.calls.json_text import is_object
from toolstream_core.defects.arguments import DOUBLE_ENCODED_ARGUMENTS

if TYPE_CHECKING:
    from toolstream_core.stages.repair.emitted import Judge

MAX_QUOTED = 1024 * 1024
"""Characters of a string that are kept."""
MAX_BEGINS = 64
"""Fragments within which an object has to begin in it."""
_BEGUN = re.compile(rf'{WS}"(?:[{WHITE}]|\\[nrt])*(?:\\?\Z|(?P<object>\{{))')
"""The begin of a JSON string that may hold an object, and whether that has begun."""


class Inner(NamedTuple):
    """An object that came within a string."""

    raw: str
    """The string as it came."""
    value: str
    tail: str
    """What followed it in the same fragment."""
    repair: bool


class Quoted:
    """Keeps the fragments of a string back for as long as it may hold an object."""

    __slots__ = ("_kept", "_pieces", "_sure", "_text")

    def __init__(self, room: Room) -> None:
        """Nothing has come; what is kept takes `room`."""
        self._pieces: list[str] = []
        self._text = ArgumentText(MAX_QUOTED, room)
        self._sure = False
        """Whether the object has begun."""
        self._kept = False
        """Whether the client was given nothing of it."""

    def take(self, piece: str, judge: Judge) -> str | Inner:
        """What goes on for the next fragment while the string is open, or the object, once it is closed."""
        self._pieces.append(piece)
        self._text.add(piece)
        if self._text.ended:
            return self._closed(judge) or self.let_go(piece)
        if not self._may_hold() or not self._text.viable or self._text.truncated:
            return self.let_go(piece)
        self._kept = judge(DOUBLE_ENCODED_ARGUMENTS, "the arguments are JSON within a JSON string")
        return "" if self._kept else piece

    def let_go(self, piece: str = "") -> str:
        """What was kept goes on as it came; `piece` is the last fragment, where nothing was kept."""
        kept = "".join(self._pieces) if self._kept else piece
        self._pieces.clear()
        return kept

    @property
    def steady(self) -> bool:
        """Whether text in which nothing ends is told nothing new."""
        return self._sure and not self._text.in_escape

    def on_skipped(self, text: str, last: str) -> str:
        """Take such text, which came in several fragments; what went on of it, had it to be mended."""
        self._pieces.append(text)
        self._text.add_plain(text, last)
        return "" if self._kept else text

    @property
    def over(self) -> bool:
        """Whether there is nothing to be kept any more."""
        return not self._pieces

    def _may_hold(self) -> bool:
        if not self._sure:
            begun = _BEGUN.match("".join(self._pieces)) if len(self._pieces) < MAX_BEGINS else None
            self._sure = begun is not None and begun["object"] is not None
            return begun is not None
        return True

    def _closed(self, judge: Judge) -> Inner | None:
        joined = "".join(self._pieces)
        value, end = _string(joined)
        if value is None or not is_object(value):
            return None
        repair = judge(DOUBLE_ENCODED_ARGUMENTS, "the arguments are JSON within a JSON string")
        return Inner(joined[:end], value, joined[end:], repair)


def begins_object(piece: str) -> bool:
    """Whether an object begins here, or a JSON string in which one has begun."""
    begun = _BEGUN.match(piece)
    if begun is None or begun["object"] is None:
        return piece.lstrip(WHITE).startswith("{")
    text = ArgumentText()
    text.add(piece)
    return is_object(_string(piece)[0] or "") if text.ended else text.viable


def _string(text: str) -> tuple[str | None, int]:
    """What the JSON string holds that `text` begins with, and where it ends."""
    begin = len(text) - len(text.lstrip(WHITE))
    try:
        value, end = json.JSONDecoder().raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None, 0
    return (value, end) if isinstance(value, str) else (None, 0)
