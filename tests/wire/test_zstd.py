"""All modules for zstd decode alike."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
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
    """Each module in turn, as if the others were not installed."""
    name: str = request.param
    taken = pytest.importorskip(name)
    monkeypatch.setitem(coding._STAGES, "zstd", partial(coding.MODULES[name], taken))
    monkeypatch.setattr(coding, "ERRORS", (taken.ZstdError,))
    return name


def flushed(parts: list[bytes]) -> Iterator[bytes]:
    """A frame with a block for each part."""
    coder = zstandard.ZstdCompressor().compressobj()
    for part in parts:
        yield coder.compress(part) + coder.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    yield coder.flush()


def test_flushed_bytes_are_decoded_at_once(module: str) -> None:
    """An event is not delayed until the next one."""
    decoder = Decoder("zstd")
    *blocks, last = flushed(PARTS)
    assert [decoder.decode(block) for block in blocks] == PARTS
    assert decoder.decode(last) == b""


def test_several_frames(module: str) -> None:
    """RFC 8878 allows them, also empty and skippable ones."""
    coder = zstandard.ZstdCompressor()
    skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    coded = coder.compress(PARTS[0]) + coder.compress(b"") + skipped + coder.compress(PARTS[1])
    for at in range(len(coded)):
        decoder = Decoder("zstd")
        assert decoder.decode(coded[:at]) + decoder.decode(coded[at:]) == PARTS[0] + PARTS[1]


def test_a_window_over_8_mib_is_an_error(module: str) -> None:
    """RFC 9659 limits it, and a header alone allocates no memory."""
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
def test_corrupt_data_is_an_error(module: str, wrong: bytes) -> None:
    """Plain text, and garbage after a valid header."""
    with pytest.raises(CodingError):
        Decoder("zstd").decode(wrong * 3)


def test_a_decompression_bomb_is_an_error(module: str) -> None:
    """Each block is small, but the output is counted."""
    with pytest.raises(CodingError, match="expands to more than"):
        Decoder("zstd", max_output=100_000).decode(b"".join(flushed([b"\0" * 4_000_000])))


def test_without_zstd_modules_other_codings_work() -> None:
    """The addon loads, and zstd is an unknown coding."""
    program = f"""
import sys
sys.path.insert(0, {str(ROOT / "addon")!r})
sys.modules.update(dict.fromkeys({list(coding.MODULES)!r}))
from toolstream_core.wire.coding import CodingError, Decoder
import gzip
assert Decoder("gzip").decode(gzip.compress(b"x")) == b"x"
try:
    Decoder("zstd")
except CodingError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "unknown content coding 'zstd'"
