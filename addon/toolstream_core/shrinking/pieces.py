"""A body as pieces that can be taken out one by one. Knows the framings, and no protocol."""

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


class Cut(NamedTuple):
    """Where a chunk of the body began within a piece, and when it came."""

    offset: int
    after: int
    """Milliseconds since the first byte."""


class Timed(NamedTuple):
    """A chunk of a body."""

    after: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Piece:
    """One frame of a body, with the chunks that began in it."""

    frame: Frame
    cuts: tuple[Cut, ...] = ()

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.frame.raw)

    @property
    def counts(self) -> bool:
        """Whether it is an event, not a comment or what closes an array."""
        return self.frame.data is not None


class Framing:
    """How the pieces of one body hang together."""

    def __init__(self, framer: Framer) -> None:
        """`framer` cut the body."""
        self._array = isinstance(framer, ArrayFramer)
        self._writer = writer_for(framer)

    def fixed(self, piece: Piece) -> bool:
        """Whether the framing cannot do without `piece`: what closes an array."""
        return self._array and not piece.counts

    def rewritten(self, piece: Piece, payload: Json) -> Piece:
        """`piece` with other JSON; a chunk that began in the middle of it begins with the next one."""
        frame = piece.frame
        if self._writer is None:
            data = encoded(payload)
            new = Frame(data, frame.number, data)
        else:
            new = self._writer.rewrite(frame, payload)
        return Piece(new, piece.cuts if new.raw == frame.raw else piece.cuts[:1])

    def joined(self, pieces: Sequence[Piece]) -> list[Timed]:
        """The body in its chunks."""
        chunks: list[Timed] = []
        for piece in pieces:
            raw = self._led(piece, first=not chunks)
            cuts = [cut for cut in piece.cuts if cut.offset < len(raw)]
            if not chunks and (not cuts or cuts[0].offset):
                cuts.insert(0, Cut(0, 0))
            ends = [*(cut.offset for cut in cuts), len(raw)]
            if ends[0]:  # the beginning belongs to the chunk before
                chunks[-1] = Timed(chunks[-1].after, chunks[-1].data + raw[: ends[0]])
            chunks += [Timed(cut.after, raw[cut.offset : end]) for cut, end in zip(cuts, ends[1:], strict=True)]
        return chunks

    def _led(self, piece: Piece, *, first: bool) -> bytes:
        """The bytes of a piece; the first element of an array opens it, the others follow a comma."""
        raw = piece.frame.raw
        lead = _LEAD.match(raw) if self._array and piece.counts else None
        if lead is None or (b"[" in lead[0]) is first:
            return raw
        return (b"[" if first else b",\r\n") + raw[lead.end() :]


def split(chunks: Iterable[Timed], content_type: str) -> tuple[Framing, tuple[Piece, ...]]:
    """A body's framing and its pieces; a body that has no framing of ours is one piece."""
    taken = list(chunks)
    body = b"".join(chunk.data for chunk in taken)
    chosen = choose(content_type, body[:MAX_HEAD], ended=True)
    framer = WholeFramer() if chosen is None or chosen is NOT_OURS else chosen
    frames = [*framer.feed(body), *framer.feed(b"")] if body else []
    return Framing(framer), tuple(_pieces(frames, taken))


def _pieces(frames: Iterable[Frame], chunks: Sequence[Timed]) -> Iterable[Piece]:
    starts: list[Cut] = []
    at = 0
    for chunk in chunks:
        starts.append(Cut(at, chunk.after))
        at += len(chunk.data)
    begin = taken = 0
    for frame in frames:
        end = begin + len(frame.raw)
        mine: list[Cut] = []
        while taken < len(starts) and starts[taken].offset < end:
            mine.append(Cut(starts[taken].offset - begin, starts[taken].after))
            taken += 1
        yield Piece(frame, tuple(mine))
        begin = end


def own_chunk(piece: Piece) -> Piece:
    """`piece` as one chunk that comes at once."""
    return replace(piece, cuts=(Cut(0, 0),))
