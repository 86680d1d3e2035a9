"""Content codings: all codings, chunk boundaries and flushes, corrupt data, and decompression bombs."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.splits import bytewise, split_at, split_places
from toolstream_core.wire.coding import CodingError, Decoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PARTS = [b'data: {"n":%d,"text":"%s"}\n\n' % (n, b"ab" * n) for n in range(40)]
BODY = b"".join(PARTS)


def deflater(bits: int) -> Callable[[list[bytes]], list[bytes]]:
    """Returns a function that codes with zlib, gzip or raw deflate, and flushes after each part."""

    def code(parts: list[bytes]) -> list[bytes]:
        coder = zlib.compressobj(wbits=bits)
        return [*(coder.compress(part) + coder.flush(zlib.Z_SYNC_FLUSH) for part in parts), coder.flush()]

    return code


def brotlied(parts: list[bytes]) -> list[bytes]:
    """Code with brotli, flushed after each part."""
    coder = brotli.Compressor(quality=5)
    return [*(coder.process(part) + coder.flush() for part in parts), coder.finish()]


def zstandarded(parts: list[bytes]) -> list[bytes]:
    """Code with zstd, flushed after each part."""
    coder = zstandard.ZstdCompressor().compressobj()
    flush = zstandard.COMPRESSOBJ_FLUSH_BLOCK
    return [*(coder.compress(part) + coder.flush(flush) for part in parts), coder.flush()]


CODERS: dict[str, tuple[str, Callable[[list[bytes]], list[bytes]]]] = {
    "gzip": ("gzip", deflater(31)),
    "x-gzip": ("x-gzip", deflater(31)),
    "zlib": ("deflate", deflater(15)),
    "raw deflate": ("deflate", deflater(-15)),
    "br": ("br", brotlied),
    "zstd": ("zstd", zstandarded),
    "identity": ("identity", lambda parts: [*parts, b""]),
    "none": ("", lambda parts: [*parts, b""]),
    "stacked": ("gzip, br", lambda parts: brotlied(deflater(31)(parts))),
    "stacked, spelt oddly": (" Deflate ,GZIP,identity", lambda parts: deflater(31)(deflater(15)(parts))),
}
every_coding = pytest.mark.parametrize(("name", "code"), CODERS.values(), ids=CODERS)


def decoded(name: str, chunks: Iterable[bytes]) -> bytes:
    """The decoded body of these chunks."""
    decoder = Decoder(name)
    return b"".join([decoder.decode(chunk) for chunk in chunks] + [decoder.decode(b"")])


@every_coding
def test_flushed_bytes_are_decoded_at_once(name: str, code: Callable[[list[bytes]], list[bytes]]) -> None:
    """An event that the server flushed is not delayed until the next one."""
    decoder = Decoder(name)
    *flushed, last = code(PARTS)
    assert [decoder.decode(chunk) for chunk in flushed[: len(PARTS)]] == PARTS
    assert b"".join(decoder.decode(chunk) for chunk in [*flushed[len(PARTS) :], last, b""]) == b""


@every_coding
def test_chunk_boundaries_do_not_matter(name: str, code: Callable[[list[bytes]], list[bytes]]) -> None:
    """The complete body, single bytes, and every split in two give the same result."""
    coded = b"".join(code(PARTS))
    assert decoded(name, [coded]) == BODY
    assert decoded(name, bytewise(coded)) == BODY
    for at in range(1, len(coded)):
        assert decoded(name, [coded[:at], coded[at:]]) == BODY


@every_coding
@given(parts=st.lists(st.binary(max_size=60), max_size=6), places=split_places())
def test_random_bytes_with_random_chunk_boundaries(
    name: str, code: Callable[[list[bytes]], list[bytes]], parts: list[bytes], places: list[int]
) -> None:
    """Parts may be empty or impossible to compress."""
    assert decoded(name, split_at(b"".join(code(parts)), places)) == b"".join(parts)


@every_coding
def test_a_truncated_body_is_decoded_to_its_last_byte(name: str, code: Callable[[list[bytes]], list[bytes]]) -> None:
    """A disconnect loses nothing that was flushed."""
    flushed = code(PARTS)
    assert decoded(name, flushed[:20]) == b"".join(PARTS[:20])


@pytest.mark.parametrize("name", ["identity", ""])
def test_without_a_coding_the_chunk_is_not_copied(name: str) -> None:
    """The decoder returns the same object."""
    assert Decoder(name).decode(BODY) is BODY


def test_gzip_with_several_members() -> None:
    """RFC 1952 allows it, and some servers flush that way."""
    coded = gzip.compress(PARTS[0]) + gzip.compress(b"") + gzip.compress(PARTS[1])
    for at in range(len(coded)):
        assert decoded("gzip", [coded[:at], coded[at:]]) == PARTS[0] + PARTS[1]


@pytest.mark.parametrize(
    "after", [b"\0" * 9, b"garbage", b"\x1f", b"\x1f\x1f\x8b", b"\0" + gzip.compress(b"x", mtime=0)]
)
def test_garbage_after_gzip_is_ignored(after: bytes) -> None:
    """Browsers ignore it too, also if it begins like a member."""
    coded = gzip.compress(BODY) + after
    assert decoded("gzip", [coded]) == BODY
    assert decoded("gzip", bytewise(coded)) == BODY


@pytest.mark.parametrize("bits", [15, -15])
def test_garbage_after_deflate_is_ignored(bits: int) -> None:
    """With and without zlib's header."""
    coded = b"".join(deflater(bits)(PARTS)) + b"garbage"
    assert decoded("deflate", [coded]) == BODY
    assert decoded("deflate", bytewise(coded)) == BODY


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_text_with_the_label_of_a_coding_is_an_error(name: str) -> None:
    """The error is raised for the first chunk."""
    with pytest.raises(CodingError):
        Decoder(name).decode(b'\xfedata: {"plain":"text"}\n\n' * 3)


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_corrupt_data_after_valid_data_is_an_error(name: str) -> None:
    """The valid data was decoded before."""
    decoder = Decoder(name)
    coded = CODERS[name if name != "deflate" else "zlib"][1](PARTS)
    assert decoder.decode(coded[0]) == PARTS[0]
    with pytest.raises(CodingError):
        decoder.decode(b"\xff" * 200)


@pytest.mark.parametrize("name", ["compress", "gzip, snappy", "utf-8"])
def test_an_unknown_coding_is_an_error(name: str) -> None:
    """The error is raised before the first byte."""
    with pytest.raises(CodingError, match="unknown content coding"):
        Decoder(name)


@pytest.mark.parametrize("coding", ["gzip", "zlib", "raw deflate", "br", "zstd", "stacked"])
def test_a_decompression_bomb_is_an_error(coding: str) -> None:
    """It is found in each coding and in nested codings, before the output is in memory."""
    name, code = CODERS[coding]
    bomb = b"".join(code([b"\0" * 4_000_000]))
    with pytest.raises(CodingError, match="expands to more than"):
        Decoder(name, max_output=100_000).decode(bomb)


def test_the_limit_applies_to_a_chunk() -> None:
    """A long stream is no bomb."""
    decoder = Decoder("gzip", max_output=len(PARTS[-1]))
    assert b"".join(decoder.decode(chunk) for chunk in deflater(31)(PARTS)) == BODY


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd", "gzip, zstd"])
@given(chunks=st.lists(st.binary(max_size=40), max_size=5))
def test_random_bytes_raise_only_coding_errors(name: str, chunks: list[bytes]) -> None:
    """All libraries' errors have the same type."""
    decoder = Decoder(name)
    try:
        plain = [decoder.decode(chunk) for chunk in [*chunks, b""]]
    except CodingError as error:
        assert str(error)  # noqa: PT017 - either way is right
    else:
        assert all(isinstance(part, bytes) for part in plain)
