"""UTF-16, which Windows PowerShell writes, read as UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import TYPE_CHECKING, override

from toolstream_core.sources.pieces import PIECE

if TYPE_CHECKING:
    from collections.abc import Buffer

_MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def wide_coding(head: bytes) -> str | None:
    """The coding of a text whose characters have two bytes, or four, by its mark or by its zeros."""
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    even, odd = head[0::2], head[1::2]
    if len(head) < 8 or not (even.isascii() and odd.isascii()):  # noqa: PLR2004 - too short to tell
        return None
    if not any(odd) and all(even):
        return "utf-16-le"
    return "utf-16-be" if not any(even) and all(odd) else None


class Recoded(io.RawIOBase):
    """A text in another encoding, as UTF-8."""

    def __init__(self, head: bytes, rest: io.BufferedReader, coding: str) -> None:
        """`head` was read from `rest` already."""
        self._rest = rest
        self._decoder = codecs.getincrementaldecoder(coding)("replace")
        self._ready = self._decoder.decode(head).encode("utf-8", "replace")
        self._over = False

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer)
        while not self._ready and not self._over:
            piece = self._rest.read1(PIECE)
            self._over = not piece
            self._ready = self._decoder.decode(piece, final=not piece).encode("utf-8", "replace")
        size = min(len(view), len(self._ready))
        view[:size], self._ready = self._ready[:size], self._ready[size:]
        return size
