"""Content codings: every coding, every cut, every flush, what is corrupt, and bombs."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.cuts import bytewise, cut_at, places
from toolstream_core.wire.coding import CodingError, Decoder, UnknownCodingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PARTS = [b'data: {"n":%d,"text":"%s"}\n\n' % (n, b"ab" * n) for n in range(40)]
BODY = b"".join(PARTS)


def deflater(bits: int) -> Callable[[list[bytes]], list[bytes]]:
    """Code with zlib, gzip or bare framing, flushed after each part."""

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
    """Everything that `chunks` say, the end told."""
    decoder = Decoder(name)
    return b"".join([decoder.decode(chunk) for chunk in chunks] + [decoder.decode(b"")])


@every_coding
def test_what_was_flushed_is_out_at_once(name: str, code: Callable[[list[bytes]], list[bytes]]) -> None:
    """An event that the server flushed is shown when it comes, not with a later one."""
    decoder = Decoder(name)
    *flushed, last = code(PARTS)
    assert [decoder.decode(chunk) for chunk in flushed[: len(PARTS)]] == PARTS
    assert b"".join(decoder.decode(chunk) for chunk in [*flushed[len(PARTS) :], last, b""]) == b""


@every_coding
def test_the_same_bytes_at_every_cut(name: str, code: Callable[[list[bytes]], list[bytes]]) -> None:
    """Whole, byte by byte, and in two at every place."""
    coded = b"".join(code(PARTS))
    assert decoded(name, [coded]) == BODY
    assert decoded(name, bytewise(coded)) == BODY
    for at in range(1, len(coded)):
        assert decoded(name, [coded[:at], coded[at:]]) == BODY


@every_coding
@given(parts=st.lists(st.binary(max_size=60), max_size=6), where=places())
def test_any_bytes_at_any_cut(
    name: str, code: Callable[[list[bytes]], list[bytes]], parts: list[bytes], where: list[int]
) -> None:
    """Also where parts are empty and nothing compresses."""
    assert decoded(name, cut_at(b"".join(code(parts)), where)) == b"".join(parts)


@every_coding
def test_a_body_that_stops_in_the_middle_gives_what_came(name: str, code: Callable[[list[bytes]], list[bytes]]) -> None:
    """A connection that breaks loses nothing that was sent."""
    flushed = code(PARTS)
    assert decoded(name, flushed[:20]) == b"".join(PARTS[:20])


@pytest.mark.parametrize("name", ["identity", ""])
def test_no_coding_passes_the_chunk_itself(name: str) -> None:
    """No copy where there is nothing to undo."""
    assert Decoder(name).decode(BODY) is BODY


def test_gzip_of_several_members_at_every_cut() -> None:
    """RFC 1952 allows it, and some servers flush that way."""
    coded = gzip.compress(PARTS[0]) + gzip.compress(b"") + gzip.compress(PARTS[1])
    for at in range(len(coded)):
        assert decoded("gzip", [coded[:at], coded[at:]]) == PARTS[0] + PARTS[1]


@pytest.mark.parametrize(
    "after", [b"\0" * 9, b"garbage", b"\x1f", b"\x1f\x1f\x8b", b"\0" + gzip.compress(b"x", mtime=0)]
)
def test_what_follows_gzip_and_is_no_member_is_ignored(after: bytes) -> None:
    """As browsers do; also one that begins like a member."""
    coded = gzip.compress(BODY) + after
    assert decoded("gzip", [coded]) == BODY
    assert decoded("gzip", bytewise(coded)) == BODY


@pytest.mark.parametrize("bits", [15, -15])
def test_what_follows_deflated_data_is_ignored(bits: int) -> None:
    """With and without zlib's header."""
    coded = b"".join(deflater(bits)(PARTS)) + b"garbage"
    assert decoded("deflate", [coded]) == BODY
    assert decoded("deflate", bytewise(coded)) == BODY


def test_zstd_of_several_frames_at_every_cut() -> None:
    """RFC 8878 allows it."""
    coder = zstandard.ZstdCompressor()
    coded = coder.compress(PARTS[0]) + coder.compress(PARTS[1])
    for at in range(len(coded)):
        assert decoded("zstd", [coded[:at], coded[at:]]) == PARTS[0] + PARTS[1]


def test_zstd_of_a_window_that_http_forbids() -> None:
    """RFC 9659: above 8 MiB a reader may refuse, so that a header alone takes no memory."""
    wide = zstandard.ZstdCompressionParameters.from_level(3, window_log=24)
    coder = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    with pytest.raises(CodingError):
        Decoder("zstd").decode(coder.compress(BODY) + coder.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_what_is_corrupt_is_told_at_once(name: str) -> None:
    """A label that lies about plain text."""
    with pytest.raises(CodingError):
        Decoder(name).decode(b'\xfedata: {"plain":"text"}\n\n' * 3)


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_corrupt_in_the_middle(name: str) -> None:
    """What came before is out already."""
    decoder = Decoder(name)
    coded = CODERS[name if name != "deflate" else "zlib"][1](PARTS)
    assert decoder.decode(coded[0]) == PARTS[0]
    with pytest.raises(CodingError):
        decoder.decode(b"\xff" * 200)


@pytest.mark.parametrize("name", ["compress", "gzip, snappy", "utf-8"])
def test_a_name_that_is_not_known(name: str) -> None:
    """Told before any byte comes."""
    with pytest.raises(UnknownCodingError, match="unknown content coding"):
        Decoder(name)


@pytest.mark.parametrize("coding", ["gzip", "zlib", "raw deflate", "br", "zstd", "stacked"])
def test_a_bomb_is_an_error_long_before_it_is_in_memory(coding: str) -> None:
    """Each coding, and one within the other."""
    name, code = CODERS[coding]
    bomb = b"".join(code([b"\0" * 4_000_000]))
    with pytest.raises(CodingError, match="expands to more than"):
        Decoder(name, max_output=100_000).decode(bomb)


def test_the_bound_holds_for_one_call_not_for_the_stream() -> None:
    """A long stream is no bomb."""
    decoder = Decoder("gzip", max_output=len(PARTS[-1]))
    assert b"".join(decoder.decode(chunk) for chunk in deflater(31)(PARTS)) == BODY


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd", "gzip, zstd"])
@given(chunks=st.lists(st.binary(max_size=40), max_size=5))
def test_arbitrary_bytes_raise_nothing_else(name: str, chunks: list[bytes]) -> None:
    """One error to catch, whichever library found it."""
    decoder = Decoder(name)
    try:
        plain = [decoder.decode(chunk) for chunk in [*chunks, b""]]
    except CodingError as error:
        assert str(error)  # noqa: PT017 - either way is right
    else:
        assert all(isinstance(piece, bytes) for piece in plain)
