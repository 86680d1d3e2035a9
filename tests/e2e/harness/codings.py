"""Content codings from both sides, flushed piece by piece. What the addon reads with is not used here."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Protocol

import brotli  # type: ignore[import-untyped]
import zstandard


class Coder(Protocol):
    """A content coding, from the upstream's side."""

    def encode(self, data: bytes) -> bytes:
        """What the peer needs to have all of `data`."""
        ...

    def finish(self) -> bytes:
        """What is left at the end."""
        ...


class Identity:
    """No coding."""

    def encode(self, data: bytes) -> bytes:
        """As it is."""
        return data

    def finish(self) -> bytes:
        """Nothing."""
        return b""


class Zlib:
    """gzip and deflate (RFC 9110 8.4.1: the latter is the zlib format)."""

    def __init__(self, window_bits: int) -> None:
        """`window_bits` as zlib wants them: 31 for gzip, 15 for deflate."""
        self._compressor = zlib.compressobj(wbits=window_bits)

    def encode(self, data: bytes) -> bytes:
        """A sync flush after each piece."""
        return self._compressor.compress(data) + self._compressor.flush(zlib.Z_SYNC_FLUSH)

    def finish(self) -> bytes:
        """The trailer."""
        return self._compressor.flush()


class Brotli:
    """br."""

    def __init__(self) -> None:
        """A quick quality, as servers use for what they make on the fly."""
        self._compressor = brotli.Compressor(quality=4)

    def encode(self, data: bytes) -> bytes:
        """A flush after each piece."""
        return bytes(self._compressor.process(data) + self._compressor.flush())

    def finish(self) -> bytes:
        """The last block."""
        return bytes(self._compressor.finish())


class Zstandard:
    """zstd."""

    def __init__(self) -> None:
        """One frame for the whole body."""
        self._compressor = zstandard.ZstdCompressor().compressobj()

    def encode(self, data: bytes) -> bytes:
        """A block after each piece."""
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
"""What can be read so far, as the bytes of a coding come."""


def zlib_decode() -> Decode:
    """Gzip or zlib, whichever it is."""
    return zlib.decompressobj(wbits=47).decompress


def brotli_decode() -> Decode:
    """Br."""
    process: Decode = brotli.Decompressor().process
    return process


def zstandard_decode() -> Decode:
    """Zstd."""
    return zstandard.ZstdDecompressor().decompressobj().decompress


DECODERS: dict[str, Callable[[], Decode]] = {
    "identity": lambda: bytes,
    "gzip": zlib_decode,
    "deflate": zlib_decode,
    "br": brotli_decode,
    "zstd": zstandard_decode,
}
