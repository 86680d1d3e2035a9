"""What clients make of JSON that was cut off, or that more follows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from toolstream_core.calls.json_text import is_json

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_TEXT: Final = 1 << 15
"""Characters of a text that is looked through; of a longer one nothing is made."""
_TAKEN_BACK: Final = 24
"""Characters that are taken back one by one, at most: an unfinished number or word."""
_MEMBERS: Final = 8
"""Members that are taken back, at most."""
_MAX_DEPTH: Final = 100
"""Brackets within each other; of what is deeper nothing is made."""
_DECODER: Final = json.JSONDecoder()
_CLOSING: Final = {"{": "}", "[": "]"}


def head(text: str) -> str:
    """The JSON value that `text` begins with; `""` where it begins with none."""
    begin = len(text) - len(text.lstrip())
    try:
        return text[begin : _DECODER.raw_decode(text, begin)[1]]
    except (ValueError, RecursionError):
        return ""


def listed(text: str) -> str:
    """A list of the JSON values that follow each other in `text`; `""` where it is not made of several."""
    values: list[str] = []
    while text.strip() and len(text) <= MAX_TEXT:
        if not (found := head(text)):
            return ""
        values.append(found)
        text = text.lstrip()[len(found) :]
    return f"[{','.join(values)}]" if len(values) > 1 else ""


def completed(text: str) -> str:
    """The text with its open string and brackets closed, shortened as little as it takes; `""` where that is none."""
    if found := head(text):
        return found
    if len(text) > MAX_TEXT:
        return ""
    cuts = _Cuts(text)
    return cuts.first_whole(range(len(text), max(len(text) - _TAKEN_BACK, 0), -1)) or cuts.first_whole(cuts.members)


def shortened(text: str) -> str:
    """The text up to its last whole member, with its brackets closed; `""` where that is none."""
    if found := head(text):
        return found
    cuts = _Cuts(text[:MAX_TEXT])
    return cuts.first_whole(cuts.members) if len(text) <= MAX_TEXT else ""


class _Cuts:
    """The places where a text may be cut, and what closes it there."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._closings: dict[int, str] = {}
        self._open: list[str] = []
        self._quoted = self._escaped = False
        ends: list[int] = []
        for at, letter in enumerate(text):
            if len(self._open) > _MAX_DEPTH:
                ends.clear()
                self._closings.clear()
                break
            ends += self._step(at, letter)
            if at + 1 > len(text) - _TAKEN_BACK:
                self._note(at + 1)
        self.members = ends[: -_MEMBERS - 1 : -1]
        """Where a bracket opens, or a member ends, the last ones first."""

    def first_whole(self, cuts: Iterable[int]) -> str:
        """The text up to the first of these places where closing it makes it JSON; `""` where there is none."""
        closed = (self._text[:cut] + self._closings[cut] for cut in cuts if cut in self._closings)
        return next(filter(is_json, closed), "")

    def _step(self, at: int, letter: str) -> list[int]:
        """Pass one letter; where a member may end there, note that place."""
        if self._escaped:
            self._escaped = False
        elif self._quoted:
            self._escaped, self._quoted = letter == "\\", letter != '"'
        elif letter == '"':
            self._quoted = True
        elif letter == ",":
            return [self._note(at)]
        elif letter in _CLOSING:
            self._open.append(_CLOSING[letter])
            return [self._note(at + 1)]
        elif letter in "}]" and self._open:
            self._open.pop()
        return []

    def _note(self, cut: int) -> int:
        self._closings[cut] = ('"' if self._quoted else "") + "".join(reversed(self._open))
        return cut
