"""zstd by whichever module is there: all of them read the same."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import zstandard

from tests.conftest import ROOT
from toolstream_core.wire import coding
from toolstream_core.wire.coding import CodingError, Decoder

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTS = [b'data: {"n":%d,"text":"%s"}\n\n' % (n, b"ab" * n) for n in range(20)]


@pytest.fixture(params=coding.MODULES)
def module(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each in turn, as if it were the only one."""
    name: str = request.param
    taken = pytest.importorskip(name)
    monkeypatch.setattr(coding, "_MODULE", taken)
    monkeypatch.setattr(coding, "_MAKE", coding.MODULES[name])
    monkeypatch.setattr(coding, "ERRORS", (taken.ZstdError,))
    return name


def flushed(parts: list[bytes]) -> Iterator[bytes]:
    """Each part in a block of its own, in one frame."""
    coder = zstandard.ZstdCompressor().compressobj()
    for part in parts:
        yield coder.compress(part) + coder.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    yield coder.flush()


def test_what_was_flushed_is_out_at_once(module: str) -> None:
    """An event is shown when it comes, not with a later one."""
    decoder = Decoder("zstd")
    *pieces, last = flushed(PARTS)
    assert [decoder.decode(piece) for piece in pieces] == PARTS
    assert decoder.decode(last) == b""


def test_several_frames_at_every_cut(module: str) -> None:
    """RFC 8878 allows it; also one that says nothing, and one to be skipped."""
    coder = zstandard.ZstdCompressor()
    skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    coded = coder.compress(PARTS[0]) + coder.compress(b"") + skipped + coder.compress(PARTS[1])
    for at in range(len(coded)):
        decoder = Decoder("zstd")
        assert decoder.decode(coded[:at]) + decoder.decode(coded[at:]) == PARTS[0] + PARTS[1]


def test_a_window_that_http_forbids(module: str) -> None:
    """RFC 9659: above 8 MiB a reader may refuse, so that a header alone takes no memory."""
    for log, valid in ((23, True), (24, False)):
        wide = zstandard.ZstdCompressionParameters.from_level(3, window_log=log)
        coder = zstandard.ZstdCompressor(compression_params=wide).compressobj()
        coded = coder.compress(PARTS[9]) + coder.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        if valid:
            assert Decoder("zstd").decode(coded) == PARTS[9]
            continue
        with pytest.raises(CodingError):
            Decoder("zstd").decode(coded)


@pytest.mark.parametrize("wrong", [b"data: text\n\n", b"\x28\xb5\x2f\xfd" + b"\xff" * 60])
def test_what_is_corrupt_is_told(module: str, wrong: bytes) -> None:
    """Text under a wrong label, and garbage behind a right beginning."""
    with pytest.raises(CodingError):
        Decoder("zstd").decode(wrong * 3)


def test_a_bomb_is_an_error_before_it_is_in_memory(module: str) -> None:
    """Each block is small, and what it says is counted."""
    with pytest.raises(CodingError, match="expands to more than"):
        Decoder("zstd", max_output=100_000).decode(b"".join(flushed([b"\0" * 4_000_000])))


def test_with_none_of_them_everything_else_is_read() -> None:
    """The addon loads all the same, and says what to install where it matters."""
    program = f"""
import sys
sys.path.insert(0, {str(ROOT / "addon")!r})
sys.modules.update(dict.fromkeys({list(coding.MODULES)!r}))
from toolstream_core.wire.coding import Decoder, UnknownCodingError
import gzip
assert Decoder("gzip").decode(gzip.compress(b"x")) == b"x"
try:
    Decoder("zstd")
except UnknownCodingError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == coding.LACKING
