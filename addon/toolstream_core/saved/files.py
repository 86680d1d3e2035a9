"""Which files a path means, and which kind of file each is. Knows formats by their first bytes."""

from __future__ import annotations

import enum
import gzip
import io
import os
import re
import sys
import zlib
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from toolstream_core.model import ABSENT, Note
from toolstream_core.saved import cassette, demo, har, layout, raw
from toolstream_core.saved.exchange import UnreadableError, saved_of
from toolstream_core.saved.pieces import PIECE, Pieces, Recoded, readable, wide_coding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolstream_core.model import Json
    from toolstream_core.saved.exchange import Exchange, Saved


type ReadFlows = Callable[[BinaryIO, str], Iterator[Saved]]
"""Reads a mitmproxy flow file; handed in, because this package is not the one that knows mitmproxy."""

STDIN = "-"
READABLE = "a mitmproxy flow file, a HAR file, a VCR cassette, or a saved SSE, NDJSON or JSON response body"
"""What can be read, for messages."""
_HEAD = 64
_GZIP_HEAD = 4096
_GZIP = b"\x1f\x8b"
# A flow file is a row of tnetstrings, each a dict: `1234:9:websocket;…`.
_FLOW = re.compile(rb"[0-9]{1,12}:[0-9]{1,3}:[a-z_]+[;,]")
_HAR = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"log"\s*:\s*\{')
_CASSETTE = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:---[ \t]*\r?\n)?(?:version: \d+\r?\n)?(?:http_)?interactions:"
    rb'|\s*\{\s*(?:"version"\s*:\s*\d+\s*,\s*)?"(?:http_)?interactions"\s*:'
)
_RIGHT = {
    ".flow": "is not a mitmproxy flow file: expected one saved by mitmdump -w, mitmproxy or mitmweb",
    ".har": 'is not a HAR file: expected JSON with "log" and, in it, "entries"',
}
_RIGHT[".mitm"] = _RIGHT[".flow"]


def files(path: str) -> Iterator[str]:
    """`path` itself, or where it is a folder all files below it, sorted, but for hidden ones."""
    if path == demo.PREFIX:
        yield from (f"{demo.PREFIX}{name}" for name in demo.names())
        return
    if path == STDIN or not os.path.isdir(path):  # noqa: PTH112 - stays as the user wrote it, `./` too
        yield path
        return
    found: list[str] = []

    def unreadable(error: OSError) -> None:
        found.append(str(error.filename))

    for folder, folders, names in os.walk(path, onerror=unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        below = (os.path.join(folder, name) for name in names if not name.startswith("."))  # noqa: PTH118
        found.extend(file for file in below if os.path.isfile(file))  # noqa: PTH113
    yield from sorted(found)


def answers(path: str, read_flows: ReadFlows, request: Json = ABSENT) -> Iterator[Saved]:
    """The answers saved in one file, or in what standard input gives; `request` belongs to a bare body.

    Raises `UnreadableError`, here or while the chunks are taken; what came before it was read rightly.
    """
    with begun(path) as file:
        if file.kind is Kind.FLOWS:
            yield from read_flows(file.whole(), path)
        else:
            found = exchanges(file, path, request)
            yield from file.bodies(path, request) if found is None else map(saved_of, found)


def exchanges(file: Begun, path: str, request: Json = ABSENT) -> Iterator[Exchange] | None:
    """The responses in a file that has their requests too; `None` if it is a flow file, or has no requests."""
    if file.kind is Kind.HAR:
        return har.exchanges(file.whole().read(), path)
    if file.kind is Kind.CASSETTE:
        return cassette.exchanges(file.whole().read(), path)
    if request is ABSENT and layout.is_answer(Path(path)):
        return iter([layout.read(Path(path), path)])
    return iter(()) if layout.belongs(Path(path)) else None


@contextmanager
def begun(path: str) -> Iterator[Begun]:
    """A file, opened, with its kind known. Raises `UnreadableError`, also for what is read of it inside."""
    with readable(), _opened(path) as stream:
        file = _begin(stream)
        if file.kind is Kind.BODY and raw.suffix(path) in _RIGHT:
            raise UnreadableError(_RIGHT[raw.suffix(path)] if file.head else "is empty")
        yield file


@contextmanager
def _opened(path: str) -> Iterator[io.BufferedReader]:
    if path == STDIN:
        if sys.stdin is None:
            raise UnreadableError("is closed")
        yield cast("io.BufferedReader", sys.stdin.buffer)
        return
    if unknown := demo.unknown(path):
        raise UnreadableError(f"cannot be read: {unknown}")
    try:
        place = demo.located(path) if demo.is_demo(path) else path
        stream = open(place, "rb")  # noqa: PTH123, SIM115 - stays as the user wrote it; closed below
    except ValueError as error:
        raise UnreadableError(f"cannot be read: {error}") from error
    with stream:
        yield stream


class Kind(enum.Enum):
    """What a file holds, by its first bytes."""

    FLOWS = "a mitmproxy flow file"
    HAR = "a HAR file"
    CASSETTE = "a VCR cassette"
    BODY = "a bare body"


@dataclass(frozen=True, slots=True)
class Begun:
    """A file of which the first bytes were read."""

    head: bytes
    rest: io.BufferedReader
    coding: str
    lead: bytes
    """What the first bytes say, uncompressed."""
    removed: tuple[Note, ...] = ()
    """What was undone to read it."""

    @property
    def kind(self) -> Kind:
        """What the file holds."""
        if _FLOW.match(self.lead):
            return Kind.FLOWS
        if _CASSETTE.match(self.lead):
            return Kind.CASSETTE
        return Kind.HAR if _HAR.match(self.lead) else Kind.BODY

    def whole(self) -> BinaryIO:
        """The file from its beginning, uncompressed."""
        if not self.coding and self.rest.seekable():
            self.rest.seek(-len(self.head), io.SEEK_CUR)
            return self.rest
        data = self.head + self.rest.read()
        return io.BytesIO(gzip.decompress(data) if self.coding else data)

    def bodies(self, path: str, request: Json = ABSENT) -> Iterator[Saved]:
        """The responses in a file that is no container. Raises `UnreadableError`."""
        pieces = Pieces(self.head, self.rest)
        with closing(pieces):
            yield from raw.answers(pieces, path, coding=self.coding, request=request, removed=self.removed)


def _begin(stream: io.BufferedReader) -> Begun:
    head = stream.read(_HEAD)
    wide = wide_coding(head)
    if wide is not None:
        text = cast("io.BufferedReader", io.BufferedReader(Recoded(head, stream, wide), PIECE))
        head = text.read(_HEAD)
        return Begun(head, text, "", head, (Note("utf-16", f"the encoding {wide.upper()}"),))
    if not head.startswith(_GZIP):
        return Begun(head, stream, "", head)
    head += stream.read(_GZIP_HEAD)
    try:
        lead = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, _HEAD)
    except zlib.error:
        lead = b""
    return Begun(head, stream, "gzip", lead)
