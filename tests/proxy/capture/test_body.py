from __future__ import annotations

import contextlib
import gzip
import zlib
from typing import TYPE_CHECKING

import pytest
from mitmproxy.io import tnetstring

from tests.proxy.capture.test_draft import CaptureFolder
from tests.proxy.flows import CHUNK, DONE, SECRET
from toolstream_core.proxy.capture.body import KeptBody, TimedChunk
from toolstream_core.proxy.capture.packing import pack
from toolstream_core.redaction import redacted_body

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


RECEIVED = ((10.0, CHUNK), (10.0204, CHUNK[:20]), (11.5, CHUNK[20:] + DONE))
BODY = b"".join(data for _, data in RECEIVED)
CHUNK_TIMES = [[0, len(CHUNK)], [20, 20], [1500, len(CHUNK) + len(DONE) - 20]]


@contextlib.contextmanager
def kept_body(folder: Path, batches: Sequence[Sequence[TimedChunk]], coding: str = "") -> Iterator[KeptBody]:
    """Yield a body to which the batches were added."""
    body = KeptBody(CaptureFolder(folder).store, (), coding, compared=True)
    for batch in batches:
        body.add(batch)
    body.end()
    yield body
    body.close()


def stored(body: KeptBody) -> tuple[object, object]:
    """Return the bytes and the chunk times of a body, read back from storage."""
    content, chunks = (tnetstring.loads(b"".join(pack(part).chunks())) for part in (body.content(), body.chunks()))
    return content, chunks


def test_bytes_and_chunk_times_are_kept(tmp_path: Path) -> None:
    """The stored bytes and chunk times do not depend on how the chunks were batched."""
    for batches in ([RECEIVED], [[chunk] for chunk in RECEIVED]):
        with kept_body(tmp_path, batches) as body:
            assert stored(body) == (BODY, CHUNK_TIMES)
            assert body.length == len(BODY)


def test_chunks_of_one_network_read_share_its_time(tmp_path: Path) -> None:
    """All chunks of a network read have its time, with and without a content coding."""
    chunks = [CHUNK, DONE, CHUNK]
    sizes = [len(chunk) for chunk in chunks]
    with kept_body(tmp_path, [[(1.0, b"x")], [(1.5, chunk) for chunk in chunks]]) as body:
        assert stored(body) == (b"x" + b"".join(chunks), [[0, 1], *([500, size] for size in sizes)])
    coder = zlib.compressobj(wbits=31)
    coded = [coder.compress(chunk) + coder.flush(zlib.Z_SYNC_FLUSH) for chunk in chunks]
    with kept_body(tmp_path, [[(1.0, chunk) for chunk in coded]], "gzip") as body:
        assert stored(body) == (b"".join(chunks), [[0, size] for size in sizes])


def test_a_compressed_body_is_stored_decoded(tmp_path: Path) -> None:
    """Chunk lengths count decoded bytes; a chunk that decodes to nothing is omitted."""
    coder = zlib.compressobj(wbits=31)
    coded = [(when, coder.compress(data) + coder.flush(zlib.Z_SYNC_FLUSH)) for when, data in RECEIVED]
    head, rest = coded[0][1][:10], coded[0][1][10:]
    batch = [(10.0, head), (10.0, rest), *coded[1:], (12.0, coder.flush())]
    with kept_body(tmp_path, [batch], "gzip") as body:
        assert stored(body) == (BODY, CHUNK_TIMES)


@pytest.mark.parametrize(
    ("coding", "data"),
    [
        pytest.param("gzip", gzip.compress(CHUNK)[:20] + b"\xff" * 50, id="corrupt"),
        pytest.param("compress", CHUNK, id="unknown"),
    ],
)
def test_a_body_that_cannot_be_decoded_is_not_stored(tmp_path: Path, coding: str, data: bytes) -> None:
    """If any part of a body cannot be decoded, none of it is stored and the failure is kept."""
    with kept_body(tmp_path, [[(0.0, gzip.compress(CHUNK)), (0.1, data)], [(0.2, CHUNK)]], coding) as body:
        assert body.failure is not None
        assert (body.length, stored(body)) == (0, (b"", []))


def test_a_body_is_redacted_before_it_is_stored(tmp_path: Path) -> None:
    """A secret across two chunks is redacted at the same length; the digest is that of the received bytes."""
    chunks = ((0.0, b'data: {"k":"sk-very'), (0.1, b'secretvalue123456"}\n\n'))
    with kept_body(tmp_path, [chunks]) as body, kept_body(tmp_path, [chunks[:1]]) as other:
        assert body.digest != other.digest
        content, chunk_times = stored(body)
    assert isinstance(content, bytes)
    assert SECRET.encode() not in content
    assert b"secretvalue" not in content
    assert (len(content), chunk_times) == (
        len(b"".join(data for _, data in chunks)),
        [[0, len(chunks[0][1])], [100, 21]],
    )


SECRET_EVENT = b'data: {"x":"' + SECRET.encode() + b'"}\n\n'


@pytest.mark.parametrize(
    "events", [[CHUNK] * 14 + [DONE], [CHUNK, SECRET_EVENT, CHUNK, DONE], [CHUNK[:30], CHUNK[30:], DONE]]
)
@pytest.mark.parametrize("size", [37, 400])
def test_the_part_received_so_far(tmp_path: Path, events: list[bytes], size: int) -> None:
    """The part received so far is complete redacted lines; reading it changes nothing later."""
    complete_body = b"".join(events)
    reads = [(10.0 + at / 10, complete_body[at : at + size]) for at in range(0, len(complete_body), size)]
    body = KeptBody(CaptureFolder(tmp_path).store, ())
    for at, (when, data) in enumerate(reads):
        body.add([(when, data)])
        received = complete_body[: at * size + len(data)]
        complete = received[: received.rfind(b"\n") + 1]
        so_far = b"".join(body.so_far().chunks())
        assert so_far == redacted_body(received)[: len(complete)]
        assert SECRET.encode() not in so_far
    body.end()
    content, _ = stored(body)
    assert content == redacted_body(complete_body)
    body.close()
