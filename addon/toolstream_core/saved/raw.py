"""A response body in a file without a format, bare or inside other text, and the bytes of an open file."""

from __future__ import annotations

import codecs
import io
from collections.abc import Buffer, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePath
from tempfile import SpooledTemporaryFile
from typing import IO, Final, override

from toolstream_core.model import ABSENT, Json, Note, StreamFacts
from toolstream_core.saved.exchange import Exchange, RefusedError, UnreadableError
from toolstream_core.saved.unwrap.lines import Lines, decoded
from toolstream_core.saved.unwrap.parts import bodies
from toolstream_core.saved.unwrap.reading import LOST_BY_OBJECTS, has_events, is_bare, is_settled, unwrapped
from toolstream_core.saved.unwrap.refusals import FAILED, refusal, unreadable_part
from toolstream_core.wire.aws_event_stream import MESSAGES
from toolstream_core.wire.coding import CodingError

CHUNK: Final = 64 * 1024
_IN_MEMORY: Final = 8 * 1024 * 1024


@contextmanager
def readable() -> Iterator[None]:
    """Turns the system's errors, and those of a compressed file, into `UnreadableError`."""
    try:
        yield
    except IsADirectoryError as error:
        raise UnreadableError("is a folder: name a file in it") from error
    except (OSError, CodingError) as error:
        raise UnreadableError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


class ByteSource:
    """The bytes of a file, or of a pipe as they arrive. Bytes that were examined can be read again."""

    def __init__(self, head: bytes, rest: io.BufferedReader) -> None:
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
        """The same, for an examination: the bytes can be read again."""
        if not self.live:
            yield from self
            return
        yield from self._seen
        for chunk in self._more():
            self._seen.append(chunk)
            yield chunk

    def keep(self) -> None:
        """Read a pipe to its end, and keep its bytes in memory or in an unnamed file."""
        if self.live:
            kept: IO[bytes] = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - goes with this object
            for chunk in self:
                kept.write(chunk)
            self._rest = self._kept = kept
            self.live, self._seen, self._start = False, [], 0

    def close(self) -> None:
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


def recoded(coding: str) -> Callable[[bytes], bytes]:
    """A function that recodes the chunks of a text, of which the last is empty, to UTF-8."""
    decoder = codecs.getincrementaldecoder(coding)("replace")
    return lambda chunk: decoder.decode(chunk, final=not chunk).encode("utf-8", "replace")


class Decoded(io.RawIOBase):
    """A file whose content is coded."""

    def __init__(self, head: bytes, rest: io.BufferedReader, decode: Callable[[bytes], bytes]) -> None:
        self._rest = rest
        self._decode = decode
        self._ready = decode(head)
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
            self._ready = self._decode(chunk)
        size = min(len(view), len(self._ready))
        view[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


_OPENING: Final = (b"{", b"[")
# Only unambiguous names: a `.txt` may have any content, which its first bytes show.
_TYPES = {
    ".sse": "text/event-stream",
    ".ndjson": "application/x-ndjson",
    ".jsonl": "application/x-ndjson",
    ".eventstream": MESSAGES,
    ".json": "application/json",
}


def response(chunks: Iterable[bytes], source: str, *, request: Json = ABSENT) -> Exchange:
    """The response in a bare body."""
    content_type = _TYPES.get(suffix(source), "")
    return Exchange(facts=StreamFacts(source=source, content_type=content_type, request=request), chunks=chunks)


def responses(
    source_bytes: ByteSource, source: str, *, request: Json = ABSENT, removed: Sequence[Note] = ()
) -> Iterator[Exchange]:
    """The responses in a file without a container format: the file's body, or the streams inside its text.

    `removed` are the layers that were undone before. Raises `UnreadableError`.
    """
    lead = next(iter(source_bytes), b"")
    lost = LOST_BY_OBJECTS if lead.lstrip()[:1] in _OPENING else frozenset[str]()
    bare = (replace(one, unwrapped=list(removed), lost=lost) for one in _appended(source_bytes, source, request))
    if why := refusal(lead, ()):
        raise RefusedError(why)
    look = Lines(decoded(source_bytes.look()), is_settled if source_bytes.live else None)
    if b"\0" in lead:
        yield from bare
        return
    is_body = is_bare(look)
    if not (is_body and has_events(look.head)) and (why := unreadable_part(look.head)):
        raise RefusedError(why)
    # An error alone can be read once the user names the protocol.
    if is_body and (has_events(look.head) or refusal(lead, look.head) in {None, FAILED}):
        yield from bare
        return
    source_bytes.keep()
    number = 0
    for number, one in enumerate(_inside(source_bytes, removed), 1):
        if one is None:
            yield from bare
            return
        own = one.facts.request if request is ABSENT else request
        yield replace(one, facts=replace(one.facts, source=_numbered(source, number), request=own))
    if not number:
        if why := refusal(lead, Lines(decoded(source_bytes)).head):
            raise RefusedError(why)
        yield from bare


def _inside(source_bytes: ByteSource, removed: Sequence[Note]) -> Iterator[Exchange | None]:
    """The streams inside a text, or else those of which the text has only parts."""
    for parts in (False, True):
        found = False
        for one in unwrapped(Lines(decoded(source_bytes)), removed, parts=parts):
            found = True
            yield one
        if found:
            return


def _appended(chunks: Iterable[bytes], source: str, request: Json) -> Iterator[Exchange]:
    """The bare bodies of a file."""
    one = response(chunks, source, request=request)
    for number, part in enumerate(bodies(chunks, one.facts.content_type), 1):
        yield replace(one, chunks=part, facts=replace(one.facts, source=_numbered(source, number)))


def _numbered(source: str, number: int) -> str:
    """The name of a response among several of one file."""
    return f"{source}#{number}" if number > 1 else source


def suffix(path: str) -> str:
    """The ending of a file's name that shows its format, without `.gz`."""
    name = PurePath(path)
    return (name.with_suffix("") if name.suffix.lower() == ".gz" else name).suffix.lower()
