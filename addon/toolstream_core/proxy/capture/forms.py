"""Lines of JSON that are alike but for some values. Knows JSON's strings and numbers."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_STRING: Final = rb'[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+'
_NUMBER: Final = rb"-?[0-9][0-9.eE+-]*+"
_VALUE: Final = re.compile(rb'"(' + _STRING + rb')"\s*+:\s*+(?:"(' + _STRING + rb')"|(' + _NUMBER + rb"))")
_MARKS: Final = bytes(byte for byte in range(32) if byte not in b"\t\n\r")
"""No value of a line has any of these; each takes the place of something else between two values."""
_MARKED: Final = rb'[^"\\\x00-\x08\n-\x1f]*+(?:\\[^\x00-\x08\n-\x1f][^"\\\x00-\x08\n-\x1f]*+)*+'
"""A string without them."""
_TO_LINES: Final = bytes.maketrans(_MARKS, b"\n" * len(_MARKS))
_ADDRESS: Final = re.compile(rb"\w*index|item_id|call_id|tool_call_id|toolUseId|id")
"""Keys that say which call a line is of: lines of several calls are of several forms."""
_DELTAS: Final = frozenset(
    (
        *(b"content", b"text", b"arguments", b"partial_json", b"delta"),
        *(b"thinking", b"reasoning", b"reasoning_content", b"obfuscation"),
    )
)
"""Keys whose values differ, though those of two lines may be equal."""
_ANY_LINE: Final = re.compile(b"")
_CANARY: Final = b"Zq8vT1xYw3Lk9RmPa7Bd"
"""Looks like a key, and is one only where what stands around it says so."""


class Value(NamedTuple):
    """A string or a number that is the value of a key."""

    key: bytes
    start: int
    end: int
    text: bool


def values(line: bytes) -> list[Value]:
    """Those of a line, in order."""
    found: list[Value] = []
    for match in _VALUE.finditer(line):
        group = 2 if match[3] is None else 3
        found.append(Value(match[1], *match.span(group), group == 2))  # noqa: PLR2004 - the group of strings
    return found


class Form:
    """Lines that are alike but for some values."""

    def __init__(self, line: bytes, found: Sequence[Value]) -> None:
        """The first line."""
        self.line = line
        self.found = found
        self.keys: list[bytes] = []
        """Of the values that differ, in order; another list whenever the form gets wider."""
        self.head = self.tail = b""
        """What stands before the first of them, and behind the last."""
        self._between: list[bytes] = []
        self._lines = _ANY_LINE
        """Lines of this form without head and tail, one below the other, marks between their values."""
        self._differ: set[int] = set()
        self.widen(line, found)

    def widen(self, line: bytes, found: Sequence[Value]) -> None:
        """Let the form fit another line, which differs in values alone."""
        for at, (mine, other) in enumerate(zip(self.found, found, strict=True)):
            if self.line[mine.start : mine.end] != line[other.start : other.end] or mine.key in _DELTAS:
                self._differ.add(at)
        differ = [self.found[number] for number in sorted(self._differ)]
        if not differ:
            return
        self.keys = [value.key for value in differ]
        self.head, self.tail = self.line[: differ[0].start], self.line[differ[-1].end :]
        self._between = [self.line[value.end : after.start] for value, after in pairwise(differ)]
        self._lines = _lines(tuple(value.text for value in differ))

    def match(self, line: bytes) -> list[Sequence[bytes]] | None:
        """The values that differ, of a line of this form, as `columns`."""
        head, tail = self.head, self.tail
        if not self.keys or not line.startswith(head) or not line.endswith(tail) or len(line) < len(head) + len(tail):
            return None
        return self.columns([line[len(head) : len(line) - len(tail)]])

    def columns(self, lines: Sequence[bytes]) -> list[Sequence[bytes]] | None:
        """The values that differ, key by key, of lines without head and tail; `None` unless all are of this form."""
        if len(self._between) > len(_MARKS):
            return None
        # All at once: an object for each line, or for each value with what follows, costs as much as to read them.
        text = b"\n".join([*lines, b""])
        for mark, fixed in enumerate(self._between):
            text = _MARKS[mark : mark + 1].join(text.split(fixed))
        if self._lines.fullmatch(text) is None:
            return None
        found, count = text.translate(_TO_LINES).split(b"\n"), len(self.keys)
        return [found[at:-1:count] for at in range(count)] if len(found) == len(lines) * count + 1 else None

    def samples(self) -> list[bytes]:
        """The first line, as it came and with what might be a secret wherever a string differs."""
        if not self._differ:
            return [self.line]
        parts, at = [], 0
        for value in (self.found[number] for number in sorted(self._differ)):
            if value.text:
                parts += [self.line[at : value.start], _CANARY]
                at = value.end
        return [self.line, b"".join([*parts, self.line[at:]])]

    def skeleton(self) -> bytes:
        """The first line without its values."""
        return _without(self.line, self.found)


@lru_cache(maxsize=64)
def _lines(texts: tuple[bool, ...]) -> re.Pattern[bytes]:
    """Lines of values, each a text or a number, with marks between them."""
    kinds = [_MARKED if text else _NUMBER for text in texts]
    marks = [re.escape(_MARKS[at : at + 1]) for at in range(len(kinds) - 1)]
    line = b"".join([part for pair in zip(kinds, [*marks, b"\n"], strict=True) for part in pair])
    return re.compile(b"(?:" + line + b")*+")


def outline(line: bytes, found: Iterable[Value]) -> bytes:
    """A line without the values that may differ: equal for lines of one form."""
    return _without(line, [value for value in found if not _is_address(value.key)])


def _without(line: bytes, found: Iterable[Value]) -> bytes:
    parts, at = [], 0
    for value in found:
        parts.append(line[at : value.start])
        at = value.end
    return b"\0".join([*parts, line[at:]])


@lru_cache(maxsize=1024)
def _is_address(key: bytes) -> bool:
    return _ADDRESS.fullmatch(key) is not None
