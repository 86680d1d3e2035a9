"""Content codings of both sides, flushed after each chunk. Does not use toolstream's decoders."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Protocol

import brotli  # type: ignore[import-untyped]
import zstandard


class Coder(Protocol):
    """The encoder of a content coding."""

    def encode(self, data: bytes) -> bytes:
        """Encode `data`, flushed: the peer can decode all of it."""
        ...

    def finish(self) -> bytes:
        """The last bytes of the body."""
        ...


class Identity:
    """No coding."""

    def encode(self, data: bytes) -> bytes:
        """Return `data` unchanged."""
        return data

    def finish(self) -> bytes:
        """No bytes."""
        return b""


class Zlib:
    """gzip and deflate (RFC 9110 8.4.1: the latter is the zlib format)."""

    def __init__(self, window_bits: int) -> None:
        """`window_bits` in zlib's terms: 31 for gzip, 15 for deflate."""
        self._compressor = zlib.compressobj(wbits=window_bits)

    def encode(self, data: bytes) -> bytes:
        """Compress with a sync flush after each chunk."""
        return self._compressor.compress(data) + self._compressor.flush(zlib.Z_SYNC_FLUSH)

    def finish(self) -> bytes:
        """The trailer."""
        return self._compressor.flush()


class Brotli:
    """br."""

    def __init__(self) -> None:
        """Use a low quality, as servers do for dynamic content."""
        self._compressor = brotli.Compressor(quality=4)

    def encode(self, data: bytes) -> bytes:
        """Compress with a flush after each chunk."""
        return bytes(self._compressor.process(data) + self._compressor.flush())

    def finish(self) -> bytes:
        """The last block."""
        return bytes(self._compressor.finish())


class Zstandard:
    """zstd."""

    def __init__(self) -> None:
        """One frame for the complete body."""
        self._compressor = zstandard.ZstdCompressor().compressobj()

    def encode(self, data: bytes) -> bytes:
        """Compress each chunk to a block."""
        return self._compressor.compress(data) + self._compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)

    def finish(self) -> bytes:
        """The end of the frame."""
        return self._compressor.flush(zstandard.COMPRESSOBJ_FLUSH_FINISH)


CODERS: dict[str, Callable[[], Coder]] = {
    "identity": Identity,
    "gzip": lambda: Zlib(31),
    "deflate": lambda: Zlib(15),
    "br": Brotli,
    "zstd": Zstandard,
}

type Decode = Callable[[bytes], bytes]
"""Decodes incrementally: returns the text that the bytes so far allow."""


def zlib_decode() -> Decode:
    """A decoder of gzip and zlib; the header decides."""
    return zlib.decompressobj(wbits=47).decompress


def brotli_decode() -> Decode:
    """A decoder of br."""
    process: Decode = brotli.Decompressor().process
    return process


def zstandard_decode() -> Decode:
    """A decoder of zstd."""
    return zstandard.ZstdDecompressor().decompressobj().decompress


DECODERS: dict[str, Callable[[], Decode]] = {
    "identity": lambda: bytes,
    "gzip": zlib_decode,
    "deflate": zlib_decode,
    "br": brotli_decode,
    "zstd": zstandard_decode,
}
