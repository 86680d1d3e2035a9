"""A body as pieces that can be removed one by one. Knows the framings, and no protocol."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_array import ArrayFramer
from toolstream_core.wire.sniff import MAX_HEAD, NOT_OURS, choose
from toolstream_core.wire.whole import WholeFramer
from toolstream_core.wire.write import encoded, writer_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.model import Json
    from toolstream_core.wire.frame import Framer

_LEAD = re.compile(rb"^[\s\[,]*")


class ChunkStart(NamedTuple):
    """Where in a piece a chunk of the body begins, and when it came."""

    offset: int
    after: int
    """Milliseconds since the first byte."""


class TimedChunk(NamedTuple):
    """A chunk of a body, and when it came."""

    after: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Piece:
    """One frame of a body, with the chunks that begin in it."""

    frame: Frame
    chunk_starts: tuple[ChunkStart, ...] = ()

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.frame.raw)

    @property
    def counts(self) -> bool:
        """Whether it is an event, not a comment or the end of an array."""
        return self.frame.data is not None


class Framing:
    """Joins the pieces of one body."""

    def __init__(self, framer: Framer) -> None:
        """`framer` cut the body."""
        self._array = isinstance(framer, ArrayFramer)
        self._writer = writer_for(framer)

    def is_required(self, piece: Piece) -> bool:
        """Whether `piece` must stay: the end of an array."""
        return self._array and not piece.counts

    def rewritten(self, piece: Piece, payload: Json) -> Piece:
        """`piece` with other JSON. A chunk that began within the old bytes begins with the next piece."""
        frame = piece.frame
        if self._writer is None:
            data = encoded(payload)
            new = Frame(data, frame.number, data)
        else:
            new = self._writer.rewrite(frame, payload)
        return Piece(new, piece.chunk_starts if new.raw == frame.raw else piece.chunk_starts[:1])

    def joined(self, pieces: Sequence[Piece]) -> list[TimedChunk]:
        """The body in its chunks."""
        chunks: list[TimedChunk] = []
        for piece in pieces:
            raw = self._with_lead(piece, first=not chunks)
            chunk_starts = [start for start in piece.chunk_starts if start.offset < len(raw)]
            if not chunks and (not chunk_starts or chunk_starts[0].offset):
                chunk_starts.insert(0, ChunkStart(0, 0))
            ends = [*(start.offset for start in chunk_starts), len(raw)]
            if ends[0]:  # the beginning belongs to the chunk before
                chunks[-1] = TimedChunk(chunks[-1].after, chunks[-1].data + raw[: ends[0]])
            chunks += [
                TimedChunk(start.after, raw[start.offset : end])
                for start, end in zip(chunk_starts, ends[1:], strict=True)
            ]
        return chunks

    def _with_lead(self, piece: Piece, *, first: bool) -> bytes:
        """The bytes of a piece; in an array, with the bracket or the comma before it."""
        raw = piece.frame.raw
        lead = _LEAD.match(raw) if self._array and piece.counts else None
        if lead is None or (b"[" in lead[0]) is first:
            return raw
        return (b"[" if first else b",\r\n") + raw[lead.end() :]


def split(chunks: Iterable[TimedChunk], content_type: str) -> tuple[Framing, tuple[Piece, ...]]:
    """A body's framing and its pieces; a body without a known framing is one piece."""
    taken = list(chunks)
    body = b"".join(chunk.data for chunk in taken)
    chosen = choose(content_type, body[:MAX_HEAD], ended=True)
    framer = WholeFramer() if chosen is None or chosen is NOT_OURS else chosen
    frames = [*framer.feed(body), *framer.feed(b"")] if body else []
    return Framing(framer), tuple(_pieces(frames, taken))


def _pieces(frames: Iterable[Frame], chunks: Sequence[TimedChunk]) -> Iterable[Piece]:
    starts: list[ChunkStart] = []
    at = 0
    for chunk in chunks:
        starts.append(ChunkStart(at, chunk.after))
        at += len(chunk.data)
    begin = taken = 0
    for frame in frames:
        end = begin + len(frame.raw)
        mine: list[ChunkStart] = []
        while taken < len(starts) and starts[taken].offset < end:
            mine.append(ChunkStart(starts[taken].offset - begin, starts[taken].after))
            taken += 1
        yield Piece(frame, tuple(mine))
        begin = end


def in_own_chunk(piece: Piece) -> Piece:
    """`piece` as one chunk that comes without delay."""
    return replace(piece, chunk_starts=(ChunkStart(0, 0),))
