"""Content codings, decoded as the bytes arrive."""

from __future__ import annotations

import contextlib
import importlib
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import brotli  # type: ignore[import-untyped]

_WINDOW_LOG = 23
"""8 MiB. Larger windows are forbidden for this coding: https://www.rfc-editor.org/rfc/rfc9659"""

type Decode = Callable[[bytes], bytes]


class _Frames:
    """Any number of frames, with the interface that Python 3.14 has."""

    def __init__(self, module: Any) -> None:
        self._zstd = module
        self._frame = self._begin()

    def __call__(self, coded: bytes) -> bytes:
        plain: bytes = b""
        while coded:
            if self._frame.eof:
                self._frame = self._begin()
            plain += self._frame.decompress(coded)
            coded = self._frame.unused_data if self._frame.eof else b""
        return plain

    def _begin(self) -> Any:
        options = {self._zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}
        return self._zstd.ZstdDecompressor(options=options)


def _zstandard(module: Any) -> Decode:
    decompressor = module.ZstdDecompressor(max_window_size=1 << _WINDOW_LOG)
    decode: Decode = decompressor.decompressobj(read_across_frames=True).decompress
    return decode


MODULES: Final[dict[str, Callable[[Any], Decode]]] = {
    "compression.zstd": _Frames,
    "backports.zstd": _Frames,
    "zstandard": _zstandard,
}
"""The function that makes a decoder, by module, in the order in which modules are tried."""


def _found() -> Iterator[tuple[Any, Callable[[Any], Decode]]]:
    for name, make in MODULES.items():
        with contextlib.suppress(ImportError):
            yield importlib.import_module(name), make


_ZSTD: Final = next(_found(), None)
"""The installed module, which mitmproxy needs too."""
ERRORS: Final[tuple[type[Exception], ...]] = () if _ZSTD is None else (_ZSTD[0].ZstdError,)
"""The exceptions of its decoders for invalid bytes."""


MAX_OUTPUT = 64 * 1024 * 1024
"""Bytes that one call of `decode` may yield. A chunk that yields more is a bomb."""

_SLICE = 32
_GZIP_MAGIC = b"\x1f\x8b"
_ZLIB_HEADER = 2


class CodingError(Exception):
    """The bytes are invalid in their coding, or expand too much. The decoder cannot be used any more."""


class Decoder:
    """Undoes one content coding, or several (`gzip, br`), chunk by chunk.

    All flushed bytes are returned at once, and nothing at the end. A body that is truncated inside its coding is no
    error: everything so far was returned.

    Input is decoded in slices of 32 bytes, whose output is counted: so no call takes more memory than
    `max_output` and what one slice can yield, which is some 25 MiB at worst (brotli). The limits of the
    codecs do not exist in all of them, or not in all versions for mitmproxy 12.
    """

    def __init__(self, name: str, max_output: int = MAX_OUTPUT) -> None:
        """`name` is the header's value; `""` means none. Raises `CodingError` if a coding is unknown."""
        names = [part.strip().lower() for part in name.split(",")]
        for part in names:
            if part not in _STAGES:
                raise CodingError(f"unknown content coding {part!r}")
        factories = [_STAGES[part] for part in reversed(names)]
        self._stages = [make() for make in factories if make is not None]
        self._max = max_output

    def decode(self, chunk: bytes) -> bytes:
        """The decoded `chunk`; `b""` is the end. Raises `CodingError` as soon as the bytes are wrong."""
        for stage in self._stages:
            chunk = self._through(stage, chunk)
        return chunk

    def _through(self, stage: Decode, coded: bytes) -> bytes:
        plain: list[bytes] = []
        room = self._max
        for position in range(0, len(coded), _SLICE):
            try:
                decoded = stage(coded[position : position + _SLICE])
            except (zlib.error, brotli.error, *ERRORS) as error:
                raise CodingError(str(error)) from error
            room -= len(decoded)
            if room < 0:
                message = f"a chunk of {len(coded)} bytes expands to more than {self._max}"
                raise CodingError(message)
            plain.append(decoded)
        return b"".join(plain)


class _Gzip:
    """Any number of members. Other bytes after them are ignored, as in browsers and urllib3."""

    def __init__(self) -> None:
        self._member = _gzip_member()
        self._next = b""
        self._over = False

    def __call__(self, coded: bytes) -> bytes:
        plain = b""
        while coded and not self._over:
            if self._member.eof:
                coded = self._begin(self._next + coded)
                continue
            plain += self._member.decompress(coded)
            coded = self._member.unused_data
        return plain

    def _begin(self, coded: bytes) -> bytes:
        """Begin the next member at the start of `coded`. Returns the decoded bytes."""
        self._over = coded[: len(_GZIP_MAGIC)] != _GZIP_MAGIC[: len(coded)]
        waits = len(coded) < len(_GZIP_MAGIC)
        self._next = coded if waits else b""
        if self._over or waits:
            return b""
        self._member = _gzip_member()
        return coded


class _Deflate:
    """`deflate` means zlib's format; servers also send it bare, and browsers accept that."""

    def __init__(self) -> None:
        self._head = b""
        self._inner = zlib.decompressobj()
        self._started = False

    def __call__(self, coded: bytes) -> bytes:
        if not self._started:
            self._head = coded = self._head + coded
            if len(coded) < _ZLIB_HEADER:
                return b""
            self._started = True
            if coded[0] & 15 != zlib.DEFLATED or int.from_bytes(coded[:2]) % 31:
                self._inner = zlib.decompressobj(-zlib.MAX_WBITS)
        return b"" if self._inner.eof else self._inner.decompress(coded)


def _gzip_member() -> zlib._Decompress:
    return zlib.decompressobj(zlib.MAX_WBITS | 16)


def _brotli() -> Decode:
    process: Decode = brotli.Decompressor().process
    return process


_STAGES: dict[str, Callable[[], Decode] | None] = {
    "": None,
    "identity": None,
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "br": _brotli,
}
if _ZSTD is not None:
    _STAGES["zstd"] = partial(_ZSTD[1], _ZSTD[0])
