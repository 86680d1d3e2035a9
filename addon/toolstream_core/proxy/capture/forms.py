"""Lines of JSON that are alike but for some values. Knows JSON's strings and numbers."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_STRING: Final = rb'[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+'
_NUMBER: Final = rb"-?[0-9][0-9.eE+-]*+"
_STRINGS: Final = re.compile(_STRING + rb"(?:\n" + _STRING + rb")*+")
_NUMBERS: Final = re.compile(_NUMBER + rb"(?:\n" + _NUMBER + rb")*+")
_VALUE: Final = re.compile(rb'"(' + _STRING + rb')"\s*+:\s*+(?:"(' + _STRING + rb')"|(' + _NUMBER + rb"))")
_ADDRESS: Final = re.compile(rb"\w*index|item_id|call_id|tool_call_id|toolUseId|id")
"""Keys that say which call a line is of: lines of several calls are of several forms."""
_DELTAS: Final = frozenset(
    (b"content", b"text", b"arguments", b"partial_json", b"delta", b"thinking", b"reasoning", b"reasoning_content")
)
"""Keys whose values differ, though those of two lines may be equal."""


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
        self._kinds: list[re.Pattern[bytes]] = []
        """What the values of each column have to be, a line each."""
        self._differ: set[int] = set()

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
        self._kinds = [_STRINGS if value.text else _NUMBERS for value in differ]

    def match(self, line: bytes) -> list[Sequence[bytes]] | None:
        """The values that differ, of a line of this form, as `columns`."""
        head, tail = self.head, self.tail
        if not self.keys or not line.startswith(head) or not line.endswith(tail) or len(line) < len(head) + len(tail):
            return None
        return self.columns([line[len(head) : len(line) - len(tail)]])

    def columns(self, lines: Sequence[bytes]) -> list[Sequence[bytes]] | None:
        """The values that differ, key by key, of lines without head and tail; `None` unless all are of this form."""
        columns: list[Sequence[bytes]] = []
        for fixed in self._between:
            column, there, lines = zip(*[line.partition(fixed) for line in lines], strict=True)
            if not all(there):
                return None
            columns.append(column)
        columns.append(lines)
        alike = all(
            kind.fullmatch(text := b"\n".join(column)) is not None and text.count(b"\n") == len(column) - 1
            for kind, column in zip(self._kinds, columns, strict=True)
        )
        return columns if alike else None

    def with_texts(self, text: bytes) -> bytes:
        """The first line with `text` wherever a string differs."""
        parts, at = [], 0
        for value in (self.found[number] for number in sorted(self._differ)):
            if value.text:
                parts += [self.line[at : value.start], text]
                at = value.end
        return b"".join([*parts, self.line[at:]])


def outline(line: bytes, found: Iterable[Value]) -> bytes:
    """A line without the values that may differ: equal for lines of one form."""
    parts, at = [], 0
    for value in found:
        if _ADDRESS.fullmatch(value.key) is None:
            parts.append(line[at : value.start])
            at = value.end
    return b"\0".join([*parts, line[at:]])
