"""Decodes text with JSON escapes, and overwrites parts of it in place."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

_ESCAPE: Final = re.compile(rb'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_SIMPLE: Final = {
    b"n": b"\n", b'"': b'"', b"t": b"\t", b"\\": b"\\", b"/": b"/", b"r": b"\r", b"b": b"\b", b"f": b"\f",
}  # fmt: skip
"""The most frequent ones first."""
_SURROGATES: Final = range(0xD800, 0xE000)
_SURROGATE: Final = b"\xff"
_UNICODE_LENGTH: Final = 6
_QUOTED: Final = re.compile(rb"%([0-9a-fA-F]{2})")
_QUOTED_LENGTH: Final = 3
_SPACED: Final = re.compile(rb"[?&][\w.\[\]-]{1,64}=[^&\s+]{0,8192}\+")


type Span = tuple[int, int]
"""The beginning and the end of a part of a text."""


class Edit(NamedTuple):
    """Bytes that replace the same number of others."""

    start: int
    data: bytes


def edited(text: bytes, edits: Iterable[Edit]) -> bytes:
    """The text after the edits."""
    clean = bytearray(text)
    for edit in edits:
        clean[edit.start : edit.start + len(edit.data)] = edit.data
    return bytes(clean)


def beside_escapes(text: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a span outside escapes; an escape is only overwritten completely."""
    position = max(0, start - _UNICODE_LENGTH)
    while position and text[position - 1 : position] == b"\\":
        position -= 1
    for found in _ESCAPE.finditer(text, position, min(len(text), end + _UNICODE_LENGTH)):
        if found.start() >= end:
            break
        if found.start() > start:
            yield start, found.start()
        start = max(start, found.end())
    if start < end:
        yield start, end


def by_segment(begins: Sequence[int], edit: Edit) -> Iterator[tuple[int, int, bytes]]:
    """An edit of a text in segments, part by part: the segment's number, the offset in it, the bytes.

    `begins` has the beginning of each segment, and the end of the last one.
    """
    position, end = max(begins[0], edit.start), edit.start + len(edit.data)
    segment = bisect_right(begins, position) - 1
    while position < end and segment < len(begins) - 1:
        stop = min(end, begins[segment + 1])
        if position < stop:
            yield segment, position - begins[segment], edit.data[position - edit.start : stop - edit.start]
        position, segment = stop, segment + 1


class Unescaped:
    """The decoded form of escaped bytes, as UTF-8; a surrogate counts as one byte of no character."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.text = _unescaped(raw)
        """The decoded bytes."""
        self.hides = b"\\u" in raw or b"\\/" in raw
        """Whether an escape may represent a character of a key."""
        self._outs: list[int] = []
        self._ins: list[int] = []

    def _locate(self) -> None:
        """Find the places of escapes, and of the texts between them. Lazy, because it is rarely needed."""
        size = position = 0
        for found in _ESCAPE.finditer(self._raw):
            start = found.start()
            if start > position:
                self._outs.append(size)
                self._ins.append(position)
                size += start - position
            self._outs.append(size)
            self._ins.append(start)
            size += len(_meaning(found))
            position = found.end()
        self._outs += [size, size + len(self._raw) - position]
        self._ins += [position, len(self._raw)]

    def on_raw(self, edit: Edit) -> Iterator[Edit]:
        """An edit of `text` as edits of the escaped bytes; an escape of one letter stays."""
        if not self._outs:
            self._locate()
        for segment, offset, data in by_segment(self._outs, edit):
            into = self._ins[segment]
            length = self._ins[segment + 1] - into
            if self._outs[segment + 1] - self._outs[segment] == length:
                yield Edit(into + offset, data)
            elif length == _UNICODE_LENGTH:
                yield Edit(into + 2, self._escape(into, data))

    def _escape(self, position: int, data: bytes) -> bytes:
        """The digits of the escape at `position`, for another character, or for as many `*` as it has bytes."""
        if data == _SURROGATE:
            return b"d83d" if self._raw[position + 3 : position + 4] in b"89abAB" else b"de00"
        return b"%04x" % (ord(data.decode()[0]) if len(data) > 1 else data[0])


def _unescaped(raw: bytes) -> bytes:
    """With complete replacements: no JSON string contains a zero byte."""
    if b"\\u" in raw or b"\0" in raw:
        return _ESCAPE.sub(_meaning, raw)
    text = raw.replace(b"\\\\", b"\0")
    for letter, intended in _SIMPLE.items():
        if b"\\" not in text:
            break
        text = text.replace(b"\\" + letter, intended)
    return text.replace(b"\0", b"\\")


def _meaning(found: re.Match[bytes]) -> bytes:
    if found[2] is not None:
        return _SIMPLE[found[2]]
    code = int(found[1], 16)
    return _SURROGATE if code in _SURROGATES else chr(code).encode()


def has_quoted(text: bytes) -> bool:
    """Whether a part of it is percent-encoded, or a query with spaces."""
    return (b"%" in text and _QUOTED.search(text) is not None) or (b"+" in text and _SPACED.search(text) is not None)


class Unquoted:
    """The decoded form of percent-encoded bytes, and of `+`, which is a space there."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.text = _QUOTED.sub(lambda found: bytes([int(found[1], 16)]), raw.replace(b"+", b" "))
        """The decoded bytes."""
        self._coded: list[int] | None = None

    def on_raw(self, edit: Edit) -> Iterator[Edit]:
        """An edit of `text` as edits of the encoded bytes, each of which is overwritten three times."""
        if self._coded is None:
            self._coded = [
                found.start() - (_QUOTED_LENGTH - 1) * number
                for number, found in enumerate(_QUOTED.finditer(self._raw))
            ]
        for position, byte in enumerate(edit.data, edit.start):
            before = bisect_left(self._coded, position)
            coded = before < len(self._coded) and self._coded[before] == position
            yield Edit(position + (_QUOTED_LENGTH - 1) * before, bytes([byte]) * (_QUOTED_LENGTH if coded else 1))


_NAME: Final = 32
"""The maximum length of a name, in bytes; a longer string in its place may be anything."""
INSIDE: Final = rb'[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+'
# Fields that never contain a part of a text; skipped in C, because each event has several of them.
NO_TEXT: Final = b"id|object|model|type|role|finish_reason|system_fingerprint|service_tier|provider|event|status"
_PASSED: Final = (
    rb'(?:[^"]*+(?:"[^"\\\r\n]{0,%d}+"\s*+:\s*+(?=[^"\s])|"(?:' % _NAME
    + NO_TEXT
    + rb')"\s*+:\s*+"[^"\\\r\n]*+"))*+[^"]*+'
)
# A string, with the colon after it if it is a key; a string that the end of a line cuts off counts too.
_LEAF: Final = re.compile(_PASSED + rb'"(' + INSIDE + rb')(?:"(\s*+:\s*+(?:"(' + INSIDE + rb')"?+)?+)?+)?+')
_REST: Final = re.compile(INSIDE)


class Leaf(NamedTuple):
    """A string, without its quotes."""

    key: bytes
    """The key of the field; empty in an array."""
    start: int
    end: int
    outset: int
    """Where its key begins, or its own quote."""


def leaves(text: bytes, open_key: bytes | None = None) -> Iterator[Leaf]:
    """The strings that are values, in order, and names that are as long as a text.

    With `open_key` the text begins inside the value of that key.
    """
    position = 0
    if open_key is not None:
        position = _REST.match(text).end()  # type: ignore[union-attr]
        yield Leaf(open_key, 0, position, 0)
        position += 1
    # `match`, not `search`: a text without a further match is scanned once.
    while found := _LEAF.match(text, position):
        outset, position = found.start(1) - 1, found.end()
        start, end = found.span(3)
        if found[2] is None or found.end(1) - outset > _NAME + 1:
            yield Leaf(b"", *found.span(1), outset)
        if start >= 0:
            yield Leaf(found[1], start, end, outset)
