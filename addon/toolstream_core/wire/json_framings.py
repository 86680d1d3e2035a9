"""Framings of JSON: lines, a streamed array, one document. Knows brackets and quotes, and no value's meaning."""

from __future__ import annotations

import enum
import re

from toolstream_core.wire.frame import MAX_FRAME, Frame, Framer
from toolstream_core.wire.sse import BOM


class LineFramer(Framer):
    """Cuts a body at its line feeds. Blank lines open the next frame.

    The last line may lack its line feed and is then a frame with data all the same: `trailing` only means
    that it was not terminated.
    """

    end = b"\n"

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        """Lines over `max_frame` bytes are forwarded unread."""
        super().__init__(max_frame)
        self._blank = True

    def _seek(self, chunk: bytes, position: int) -> int:
        while position < len(chunk):
            end = chunk.find(b"\n", position) + 1
            line = chunk[position:end] if end else chunk[position:]
            self._blank = self._blank and line.isspace()
            if not end:
                return -1
            if not self._blank:
                self._blank = True
                return end
            position = end
        return -1

    def _read(self, raw: bytes, *, trailing: bool) -> Frame:
        text = raw.strip()
        if not text:
            return Frame(raw, self._number, None, trailing=trailing)
        line = text if self._number else text.removeprefix(BOM)
        return Frame(raw, self._number, line, trailing=trailing)


_OPEN = {b"[", b"{"}
_OPENING = re.compile(rb"[\[{]")
_GAP = re.compile(rb"[\s,:}]*+")
_WORD = re.compile(rb"[^\s,:\"\[\]{}]*+")
_STRING = re.compile(rb"(?:[^\"\\]++|\\.)*+", re.DOTALL)
# Matches everywhere, possibly nothing: a search never skips a byte.
_TO_BRACKET = re.compile(rb"(?:[^\"\[\]{}]++|\"(?:[^\"\\]++|\\.)*+\")*+([\"\[\]{}])?+", re.DOTALL)


class _Where(enum.Enum):
    BEFORE = enum.auto()
    """No array has begun yet; other content is not read."""
    BETWEEN = enum.auto()
    NESTED = enum.auto()
    """In an object or array, outside strings."""
    STRING = enum.auto()
    WORD = enum.auto()
    """In a number, a literal, or garbage."""
    CLOSED = enum.auto()


_IN_ELEMENT = {_Where.NESTED, _Where.STRING, _Where.WORD}


class ArrayFramer(Framer):
    """Cuts `[{…},{…}]` after each element; commas and blanks belong to the element after them.

    Reads values without an array the same way. The rest after the last element is a frame
    without data, `trailing` unless the array was closed; an element cut short is `trailing` with data.
    """

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        """Elements over `max_frame` bytes are forwarded unread."""
        super().__init__(max_frame)
        self._where = _Where.BEFORE
        self._depth = 0
        self._escaped = False
        self._begin = 0
        """The place of the element in the open frame."""
        self._base = 0
        """Added to a place in the chunk, it gives the place in the open frame."""

    def _seek(self, chunk: bytes, position: int) -> int:
        self._base = len(self._held) - position
        while position < len(chunk):
            if self._where not in _IN_ELEMENT:
                position = self._towards(chunk, position)
                continue
            position = self._within(chunk, position)
            if self._where is _Where.BETWEEN:
                return position
        return -1

    def _towards(self, chunk: bytes, position: int) -> int:
        """The start of the next element, or the end of the chunk."""
        if self._where is _Where.CLOSED:
            return len(chunk)
        if self._where is _Where.BETWEEN:
            return self._enter(chunk, _past(_GAP, chunk, position))
        opening = _OPENING.search(chunk, position)
        if opening is None:
            return len(chunk)
        self._where = _Where.BETWEEN
        return opening.end() if opening[0] == b"[" else opening.start()

    def _enter(self, chunk: bytes, position: int) -> int:
        """Take the first byte after a gap."""
        first = chunk[position : position + 1]
        if not first:
            return position
        if first == b"]":
            self._where = _Where.CLOSED
            return position + 1
        self._begin = self._base + position
        self._depth = 1 if first in _OPEN else 0
        self._where = _Where.NESTED if self._depth else _Where.STRING if first == b'"' else _Where.WORD
        return position + 1

    def _within(self, chunk: bytes, position: int) -> int:
        if self._where is _Where.STRING:
            return self._string(chunk, position)
        if self._where is _Where.NESTED:
            return self._nested(chunk, position)
        end = _past(_WORD, chunk, position)
        if end < len(chunk):
            self._where = _Where.BETWEEN
        return end

    def _nested(self, chunk: bytes, position: int) -> int:
        for match in _TO_BRACKET.finditer(chunk, position):
            found = match[1]
            if found == b'"':  # Not closed in this chunk, or the expression would have gone past it.
                self._where = _Where.STRING
                return match.end()
            if found is not None:
                self._depth += 1 if found in _OPEN else -1
            if not self._depth:
                self._where = _Where.BETWEEN
                return match.end()
        return len(chunk)

    def _string(self, chunk: bytes, position: int) -> int:
        position = _past(_STRING, chunk, position + self._escaped)
        found = chunk[position : position + 1]
        self._escaped = found == b"\\"  # The chunk's last byte, or the expression would have gone past it.
        if found == b'"':
            self._where = _Where.NESTED if self._depth else _Where.BETWEEN
        return position + len(found)

    def _read(self, raw: bytes, *, trailing: bool) -> Frame:
        if trailing and self._where not in _IN_ELEMENT:
            return Frame(raw, self._number, None, trailing=self._where is not _Where.CLOSED)
        return Frame(raw, self._number, raw[self._begin :], trailing=trailing)


def _past(expression: re.Pattern[bytes], chunk: bytes, position: int) -> int:
    """The end of the match at `position` of an expression that always matches."""
    match = expression.match(chunk, position)
    return position if match is None else match.end()


class DocumentFramer(Framer):
    """Gathers the body for reading. Above the cap it is not one frame with data but oversize parts."""

    def _seek(self, chunk: bytes, position: int) -> int:
        del chunk, position
        return -1

    def _read(self, raw: bytes, *, trailing: bool) -> Frame:
        del trailing  # The end of the body is this framing's terminator.
        return Frame(raw, self._number, raw.removeprefix(BOM).strip() or None)
