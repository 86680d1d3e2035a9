"""The bytes of an open file, which can be read from the beginning more than once."""

from __future__ import annotations

import codecs
import io
import zlib
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Final, override

from toolstream_core.saved.exchange import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Buffer, Iterator
    from typing import IO


CHUNK: Final = 64 * 1024
_IN_MEMORY: Final = 8 * 1024 * 1024


@contextmanager
def readable() -> Iterator[None]:
    """Turns the system's errors, and those of gzip, into `UnreadableError`."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


class ByteSource:
    """A pipe's bytes come when they are there; as much of them as was looked at is kept."""

    def __init__(self, head: bytes, rest: io.BufferedReader) -> None:
        """`head` was read from `rest` already."""
        self._seen = [head]
        self._rest: io.BufferedReader | IO[bytes] = rest
        self.live = not rest.seekable()
        """Whether they come from a pipe."""
        self._kept: IO[bytes] | None = None
        self._start = 0 if self.live else rest.tell() - len(head)

    def __iter__(self) -> Iterator[bytes]:
        """From the beginning."""
        if self.live:
            yield from self._seen
        else:
            self._rest.seek(self._start)
        yield from self._more()

    def look(self) -> Iterator[bytes]:
        """The same, to find out what they are: they can be had again."""
        if not self.live:
            yield from self
            return
        yield from self._seen
        for chunk in self._more():
            self._seen.append(chunk)
            yield chunk

    def keep(self) -> None:
        """Take a pipe to its end, so that its bytes can be had again: in memory, or in a file without a name."""
        if self.live:
            kept: IO[bytes] = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - goes with this object
            for chunk in self:
                kept.write(chunk)
            self._rest = self._kept = kept
            self.live, self._seen, self._start = False, [], 0

    def close(self) -> None:
        """Let go what was kept of a pipe."""
        if self._kept is not None:
            self._kept.close()

    def _more(self) -> Iterator[bytes]:
        rest = self._rest
        read = rest.read1 if isinstance(rest, io.BufferedReader) else rest.read
        with readable():
            while chunk := read(CHUNK):
                yield chunk


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
            chunk = self._rest.read1(CHUNK)
            self._over = not chunk
            self._ready = self._decoder.decode(chunk, final=not chunk).encode("utf-8", "replace")
        size = min(len(view), len(self._ready))
        view[:size], self._ready = self._ready[:size], self._ready[size:]
        return size
