"""Candidates: saved answers with events removed or made smaller. Knows bytes, judges nothing."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from toolstream_core.model import ABSENT
from toolstream_core.shrinking.pieces import Framing, Piece, split
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolstream_core.model import Exchange, Json
    from toolstream_core.shrinking.pieces import TimedChunk


@dataclass(frozen=True)
class Turn:
    """One answer and its request."""

    number: int
    """The flow's place in the file it came from, from 0."""
    exchange: Exchange
    framing: Framing
    pieces: tuple[Piece, ...]
    broken: str | None = None
    """The error with which the connection broke; `None` where it did not."""

    @cached_property
    def chunks(self) -> list[TimedChunk]:
        """The decoded body."""
        return self.framing.joined(self.pieces)

    @cached_property
    def digest(self) -> str:
        """A hash of all that a client can see of it."""
        hashed = hashlib.sha256()
        for part in self._visible_parts():
            hashed.update(b"%d:" % len(part))
            hashed.update(part)
        return hashed.hexdigest()

    @property
    def events(self) -> int:
        """Frames that carry data."""
        return sum(piece.counts for piece in self.pieces)

    def with_pieces(self, pieces: Iterable[Piece]) -> Turn:
        """The same answer with other pieces."""
        return replace(self, pieces=tuple(pieces))

    def with_request(self, request: Json) -> Turn:
        """The same answer to another request."""
        return replace(self, exchange=replace(self.exchange, request=request))

    def _visible_parts(self) -> Iterator[bytes]:
        yield str(self.number).encode()
        yield b"" if self.exchange.request is ABSENT else encoded(self.exchange.request)
        yield (self.broken or "").encode()
        for chunk in self.chunks:
            yield str(chunk.after).encode()
            yield chunk.data


type Candidate = tuple[Turn, ...]
"""Answers in the order in which they were saved."""


def turn(number: int, exchange: Exchange, chunks: Iterable[TimedChunk], broken: str | None = None) -> Turn:
    """An answer as it was saved, given its decoded body."""
    return Turn(number, exchange, *split(chunks, exchange.content_type), broken)


def events(candidate: Candidate) -> int:
    """Events in all answers."""
    return sum(one.events for one in candidate)


def size(candidate: Candidate) -> int:
    """Bytes of all bodies."""
    return sum(piece.size for one in candidate for piece in one.pieces)


def digest(candidate: Candidate) -> str:
    """A hash of all that a client can see of a candidate."""
    return hashlib.sha256("".join(one.digest for one in candidate).encode()).hexdigest()


def with_turn(candidate: Candidate, at: int, new: Turn) -> Candidate:
    """`candidate` with the answer at one place replaced."""
    return (*candidate[:at], new, *candidate[at + 1 :])
