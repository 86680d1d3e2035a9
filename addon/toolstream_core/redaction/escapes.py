"""Text with JSON escapes read as what it means, and overwritten where it stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_ESCAPE: Final = re.compile(rb'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_SIMPLE: Final = {
    b'"': b'"', b"\\": b"\\", b"/": b"/", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t",
}  # fmt: skip
_SURROGATES: Final = range(0xD800, 0xE000)
_UNICODE_LENGTH: Final = 6


class Edit(NamedTuple):
    """Bytes that replace as many others."""

    at: int
    data: bytes


def beside_escapes(text: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a span that belong to no escape: those are only ever overwritten as a whole."""
    at = max(0, start - _UNICODE_LENGTH)
    while at and text[at - 1 : at] == b"\\":
        at -= 1
    for found in _ESCAPE.finditer(text, at, min(len(text), end + _UNICODE_LENGTH)):
        if found.start() >= end:
            break
        if found.start() > start:
            yield start, found.start()
        start = max(start, found.end())
    if start < end:
        yield start, end


class Unescaped:
    """What escaped bytes mean, as UTF-8; a surrogate counts as one byte of no character."""

    def __init__(self, raw: bytes) -> None:
        """Read the escapes in `raw`."""
        self._raw = raw
        self._outs: list[int] = []
        self._ins: list[int] = []
        parts: list[bytes] = []
        size = at = 0
        for found in _ESCAPE.finditer(raw):
            start = found.start()
            if start > at:
                self._add(size, at)
                parts.append(raw[at:start])
                size += start - at
            self._add(size, start)
            meant = _meaning(found)
            parts.append(meant)
            size += len(meant)
            at = found.end()
        self._add(size, at)
        parts.append(raw[at:])
        self.text = b"".join(parts)
        """What the bytes mean."""
        self._add(size + len(raw) - at, len(raw))

    def _add(self, out: int, into: int) -> None:
        self._outs.append(out)
        self._ins.append(into)

    def on_raw(self, edit: Edit) -> Iterator[Edit]:
        """An edit of `text` as edits of the escaped bytes; an escape of one letter stays."""
        at, end = edit.at, edit.at + len(edit.data)
        segment = bisect_right(self._outs, at) - 1
        while at < end and segment < len(self._outs) - 1:
            stop = min(end, self._outs[segment + 1])
            data = edit.data[at - edit.at : stop - edit.at]
            into = self._ins[segment]
            length = self._ins[segment + 1] - into
            if self._outs[segment + 1] - self._outs[segment] == length:
                yield Edit(into + at - self._outs[segment], data)
            elif length == _UNICODE_LENGTH and data:
                yield Edit(into + 2, b"%04x" % data[0])
            at = stop
            segment += 1


def _meaning(found: re.Match[bytes]) -> bytes:
    if found[2] is not None:
        return _SIMPLE[found[2]]
    code = int(found[1], 16)
    return b"\xff" if code in _SURROGATES else chr(code).encode()
