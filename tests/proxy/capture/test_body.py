from __future__ import annotations

import contextlib
import gzip
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy.io import tnetstring

from tests.proxy.flows import CHUNK, DONE, SECRET
from toolstream_core.proxy.capture.body import KeptBody, Shared
from toolstream_core.proxy.capture.packing import pack
from toolstream_core.proxy.capture.worker import Batch
from toolstream_core.redaction import Redaction, redacted_body

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def came(*chunks: tuple[float, bytes]) -> Batch:
    """Chunks that came one by one."""
    return read_at_once(*((when, [data]) for when, data in chunks))


def read_at_once(*reads: tuple[float, list[bytes]]) -> Batch:
    """Network reads with the chunks of each."""
    batch = Batch()
    for when, chunks in reads:
        batch.add(when, b"".join(chunks), [len(chunk) for chunk in chunks])
    return batch


CAME = ((10.0, CHUNK), (10.0204, CHUNK[:20]), (11.5, CHUNK[20:] + DONE))
WHOLE = b"".join(data for _, data in CAME)
CUTS = [[0, len(CHUNK)], [20, 20], [1500, len(CHUNK) + len(DONE) - 20]]


@contextlib.contextmanager
def kept(folder: Path, batches: Sequence[Batch], coding: str = "") -> Iterator[KeptBody]:
    """A body that has come in batches."""
    body = KeptBody(Shared(folder, Redaction()), (), coding, compared=True)
    for batch in batches:
        body.add(batch)
    body.end()
    yield body
    body.close()


def read(body: KeptBody) -> tuple[object, object]:
    """Its bytes and its cuts, as they are read back."""
    content, chunks = (tnetstring.loads(b"".join(pack(one).chunks())) for one in (body.content(), body.chunks()))
    return content, chunks


def test_bytes_and_cuts(tmp_path: Path) -> None:
    """However the chunks were collected."""
    for batches in ([came(*CAME)], [came(one) for one in CAME]):
        with kept(tmp_path, batches) as body:
            assert read(body) == (WHOLE, CUTS)
            assert body.length == len(WHOLE)


def test_chunks_that_came_at_once(tmp_path: Path) -> None:
    """All of the chunks of a network read have its time, whether a coding is undone or not."""
    chunks = [CHUNK, DONE, CHUNK]
    sizes = [len(chunk) for chunk in chunks]
    with kept(tmp_path, [came((1.0, b"x")), read_at_once((1.5, chunks))]) as body:
        assert read(body) == (b"x" + b"".join(chunks), [[0, 1], *([500, size] for size in sizes)])
    coder = zlib.compressobj(wbits=31)
    coded = [coder.compress(chunk) + coder.flush(zlib.Z_SYNC_FLUSH) for chunk in chunks]
    with kept(tmp_path, [read_at_once((1.0, coded))], "gzip") as body:
        assert read(body) == (b"".join(chunks), [[0, size] for size in sizes])


def test_a_coding_is_undone(tmp_path: Path) -> None:
    """The cuts are those of the decoded bytes; a chunk that says nothing yet is none."""
    coder = zlib.compressobj(wbits=31)
    coded = [(when, coder.compress(data) + coder.flush(zlib.Z_SYNC_FLUSH)) for when, data in CAME]
    head, rest = coded[0][1][:10], coded[0][1][10:]
    batch = came((10.0, head), (10.0, rest), *coded[1:], (12.0, coder.flush()))
    with kept(tmp_path, [batch], "gzip") as body:
        assert read(body) == (WHOLE, CUTS)


@pytest.mark.parametrize(
    ("coding", "data"),
    [
        pytest.param("gzip", gzip.compress(CHUNK)[:20] + b"\xff" * 50, id="corrupt"),
        pytest.param("compress", CHUNK, id="unknown"),
    ],
)
def test_what_cannot_be_decoded_is_left_out(tmp_path: Path, coding: str, data: bytes) -> None:
    """A part of it, too; why is said."""
    with kept(tmp_path, [came((0.0, gzip.compress(CHUNK)), (0.1, data)), came((0.2, CHUNK))], coding) as body:
        assert body.failure is not None
        assert (body.length, read(body)) == (0, (b"", []))


def test_redacted_before_it_is_kept(tmp_path: Path) -> None:
    """As many bytes; the digest is that of what came."""
    chunks = ((0.0, b'data: {"k":"sk-very'), (0.1, b'secretvalue123456"}\n\n'))
    with kept(tmp_path, [came(*chunks)]) as body, kept(tmp_path, [came(chunks[0])]) as other:
        assert body.digest != other.digest
        content, cuts = read(body)
    assert isinstance(content, bytes)
    assert SECRET.encode() not in content
    assert b"secretvalue" not in content
    assert (len(content), cuts) == (len(b"".join(data for _, data in chunks)), [[0, len(chunks[0][1])], [100, 21]])


TOLD = b'data: {"x":"' + SECRET.encode() + b'"}\n\n'


@pytest.mark.parametrize("events", [[CHUNK] * 14 + [DONE], [CHUNK, TOLD, CHUNK, DONE], [CHUNK[:30], CHUNK[30:], DONE]])
@pytest.mark.parametrize("size", [37, 400])
def test_what_came_so_far(tmp_path: Path, events: list[bytes], size: int) -> None:
    """Complete lines, redacted, with their times; asking changes nothing of what is kept in the end."""
    whole = b"".join(events)
    came = [(10.0 + at / 10, whole[at : at + size]) for at in range(0, len(whole), size)]
    body = KeptBody(Shared(tmp_path, Redaction()), ())
    for at, (when, data) in enumerate(came):
        body.add(read_at_once((when, [data])))
        arrived = whole[: at * size + len(data)]
        complete = arrived[: arrived.rfind(b"\n") + 1]
        said = body.so_far()
        if said is None:
            assert complete == b""
            continue
        assert said[0] == redacted_body(arrived)[: len(complete)]
        assert SECRET.encode() not in said[0]
        cuts: Any = tnetstring.loads(b"".join(pack(said[1]).chunks()))
        assert sum(length for _, length in cuts) == len(complete)
        assert cuts == [[100 * begin, min(size, len(complete) - begin)] for begin in range(0, len(complete), size)]
    body.end()
    content, _ = read(body)
    assert content == redacted_body(whole)
    body.close()
