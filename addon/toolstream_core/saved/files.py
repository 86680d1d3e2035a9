"""Files with saved responses: the form of a file, its responses, files with changed responses, and atomic writes."""

from __future__ import annotations

import contextlib
import enum
import errno
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

from toolstream_core.errors import ToolstreamError
from toolstream_core.model import ABSENT, Json, Note
from toolstream_core.saved import bare, cassette, demo, har, raw
from toolstream_core.saved.demo import located
from toolstream_core.saved.exchange import Change, Exchange, UnreadableError
from toolstream_core.saved.raw import CHUNK, ByteSource, Decoded, readable, recoded, wide_coding
from toolstream_core.wire.coding import Decoder


def write_atomic(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write a new file; with `replace`, also instead of an existing one. Raises `OSError`.

    Devices and pipes are written directly. `cli/output.py` decides which existing files a command may replace.
    """
    if is_special(path):
        path.write_bytes(data)
        return
    try:
        _write_beside(path, data, replace=replace)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write_beside(path: Path, data: bytes, *, replace: bool) -> None:
    descriptor, name = tempfile.mkstemp(".part", f".{path.name[:64]}.", path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if not replace and os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))  # noqa: TRY301 - removes the part
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def is_special(path: Path) -> bool:
    """Whether a path is a device, a pipe or a stream of this process (`/dev/stdout`), which cannot lose data."""
    if not path.exists() or path.is_dir():
        return False
    _, *folders = path.parent.resolve().parts
    return not path.is_file() or folders == ["dev"] or folders[:1] == ["proc"]


STDIN = "-"
READABLE = "a mitmproxy flow file, a HAR file, a VCR cassette, or a saved SSE, NDJSON or JSON response body"
"""The readable formats, for messages."""
_HEAD = 64
_GZIP = b"\x1f\x8b"
# A flow file is a row of tnetstrings, each a dict: `1234:9:websocket;…`.
_FLOW = re.compile(rb"[0-9]{1,12}:[0-9]{1,3}:[a-z_]+[;,]")
_HAR = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"log"\s*:\s*\{')
_CASSETTE = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:---[ \t]*\r?\n)?(?:version: \d+\r?\n)?(?:(?:http_)?interactions:|when:[ \t]*\r?\n[ ]+\w+:)"
    rb'|\s*\{\s*(?:"version"\s*:\s*\d+\s*,\s*)?"(?:http_)?interactions"\s*:'
)
_RIGHT = {
    ".flow": "is not a mitmproxy flow file: expected one saved by mitmdump -w, mitmproxy or mitmweb",
    ".har": 'is not a HAR file: expected JSON with "log" and, in it, "entries"',
}
_RIGHT[".mitm"] = _RIGHT[".flow"]


def check_served(path: Path, expected: str = f"{READABLE}, or a folder of them") -> None:
    """Raise `ToolstreamError` for a path that cannot be read repeatedly, or does not exist."""
    if str(path) == STDIN:
        raise ToolstreamError("standard input cannot be served; save it to a file and name that file")
    if unknown := demo.unknown(path):
        raise ToolstreamError(unknown)
    if not demo.located(path).exists():
        raise ToolstreamError(f"no such file or directory: {path}. Expected {expected}")


def files(path: str) -> Iterator[str]:
    """`path` itself, or for a folder all files below it, sorted, except for hidden ones."""
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


def responses(path: str, request: Json = ABSENT) -> Iterator[Exchange]:
    """The responses saved in one file, or read from standard input; `request` belongs to a bare body.

    Raises `UnreadableError`, here or while the chunks are read; earlier responses are valid.
    """
    with begun(path) as file:
        if file.kind is Kind.FLOWS:
            from toolstream_core.saved import flowfile  # noqa: PLC0415 - mitmproxy is slow to load

            yield from flowfile.responses_in(file.opened(), path)
        else:
            found = exchanges(file, path, request)
            yield from file.bodies(path, request) if found is None else found


def exchanges(file: Begun, path: str, request: Json = ABSENT) -> Iterator[Exchange] | None:
    """The responses in a file with their requests; `None` for a flow file, or without requests."""
    if file.kind is Kind.HAR:
        return har.exchanges(file.opened().read(), path)
    if file.kind is Kind.CASSETTE:
        return cassette.exchanges(file.opened().read(), path)
    if request is ABSENT and bare.is_response(Path(path)):
        return iter([bare.read(Path(path), path)])
    return iter(()) if bare.belongs(Path(path)) else None


@contextmanager
def begun(path: str) -> Iterator[Begun]:
    """An opened file of known kind. Raises `UnreadableError`, also for reading errors inside the context."""
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
    """The form of a file, by its first bytes."""

    FLOWS = "a mitmproxy flow file"
    HAR = "a HAR file"
    CASSETTE = "a VCR cassette"
    BODY = "a bare body"


@dataclass(frozen=True, slots=True)
class Begun:
    """An open file after its first bytes were read."""

    head: bytes
    rest: io.BufferedReader
    removed: tuple[Note, ...] = ()
    """The layers that were undone to read it."""
    complete: bool = False
    """Whether all of it is in memory, although `rest` cannot be read again."""

    @property
    def kind(self) -> Kind:
        if _FLOW.match(self.head):
            return Kind.FLOWS
        if _CASSETTE.match(self.head):
            return Kind.CASSETTE
        return Kind.HAR if _HAR.match(self.head) else Kind.BODY

    def opened(self) -> BinaryIO:
        """The file from its beginning."""
        if self.rest.seekable():
            self.rest.seek(-len(self.head), io.SEEK_CUR)
            return self.rest
        return io.BytesIO(self.head + self.rest.read())

    def bodies(self, path: str, request: Json = ABSENT) -> Iterator[Exchange]:
        """The responses in a file without a container format. Raises `UnreadableError`."""
        source = ByteSource(self.head, self.rest)
        with closing(source):
            if self.complete:
                source.keep()
            yield from raw.responses(source, path, request=request, removed=self.removed)


def _begin(stream: io.BufferedReader) -> Begun:
    head = stream.read(_HEAD)
    if wide := wide_coding(head):
        return _decoded(head, stream, recoded(wide), Note("utf-16", f"the encoding {wide.upper()}"))
    if head.startswith(_GZIP):
        return _decoded(head, stream, Decoder("gzip").decode)
    return Begun(head, stream)


def _decoded(head: bytes, stream: io.BufferedReader, decode: Callable[[bytes], bytes], *removed: Note) -> Begun:
    content = cast("io.BufferedReader", io.BufferedReader(Decoded(head, stream, decode), CHUNK))
    return Begun(content.read(_HEAD), content, removed, complete=stream.seekable())


def pairs(source: str, target: str) -> Iterator[tuple[str, str]]:
    """Each file of `source`, and its target: `target` itself, or, for a folder, its place below it."""
    folder = located(source)
    if source == STDIN or not folder.is_dir():
        yield source, target
        return
    for file in files(source):
        yield file, str(Path(target) / located(file).relative_to(folder))


def rewritten(path: str, change: Change, request: Json = ABSENT) -> bytes:
    """One file with its responses changed. Raises `UnreadableError`."""
    with begun(path) as file:
        if file.kind is Kind.FLOWS:
            from toolstream_core.saved import flowfile  # noqa: PLC0415 - mitmproxy is slow to load

            return flowfile.rewritten_flows(file.opened(), path, change)
        if file.kind is Kind.HAR:
            return har.rewritten(file.opened().read(), path, change)
        if file.kind is Kind.CASSETTE:
            entries = list(cassette.exchanges(file.opened().read(), path))
            return cassette.cassette([replace(one, chunks=[change(one).body]) for one in entries])
        return _body(file.bodies(path, request), change)


def _body(found: Iterator[Exchange], change: Change) -> bytes:
    """The new body of the one response in a file without a format."""
    body = change(next(found)).body
    if next(found, None) is not None:
        raise UnreadableError("holds several responses; `toolstream extract` makes a flow file of each")
    return body
