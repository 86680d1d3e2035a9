"""A candidate: saved answers, some of their events taken out or made smaller. Knows bytes, judges nothing."""

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
    from toolstream_core.shrinking.pieces import Timed


@dataclass(frozen=True)
class Turn:
    """One answer and its request."""

    number: int
    """The flow's place in the file it came from, from 0."""
    exchange: Exchange
    framing: Framing
    pieces: tuple[Piece, ...]
    broken: str | None = None
    """How the connection broke, where it did."""

    @cached_property
    def chunks(self) -> list[Timed]:
        """The body, its content coding undone."""
        return self.framing.joined(self.pieces)

    @cached_property
    def digest(self) -> str:
        """Stands for all that a client can see of it."""
        seen = hashlib.sha256()
        for part in self._seen():
            seen.update(b"%d:" % len(part))
            seen.update(part)
        return seen.hexdigest()

    @property
    def events(self) -> int:
        """Frames that carry data."""
        return sum(piece.counts for piece in self.pieces)

    def keeping(self, pieces: Iterable[Piece]) -> Turn:
        """The same answer with other pieces."""
        return replace(self, pieces=tuple(pieces))

    def asking(self, request: Json) -> Turn:
        """The same answer to another request."""
        return replace(self, exchange=replace(self.exchange, request=request))

    def _seen(self) -> Iterator[bytes]:
        yield str(self.number).encode()
        yield b"" if self.exchange.request is ABSENT else encoded(self.exchange.request)
        yield (self.broken or "").encode()
        for chunk in self.chunks:
            yield str(chunk.after).encode()
            yield chunk.data


type Candidate = tuple[Turn, ...]
"""Answers in the order in which they were saved."""


def turn(number: int, exchange: Exchange, chunks: Iterable[Timed], broken: str | None = None) -> Turn:
    """An answer as it was saved, its content coding undone."""
    return Turn(number, exchange, *split(chunks, exchange.content_type), broken)


def events(candidate: Candidate) -> int:
    """Events in all answers."""
    return sum(one.events for one in candidate)


def size(candidate: Candidate) -> int:
    """Bytes of all bodies."""
    return sum(piece.size for one in candidate for piece in one.pieces)


def digest(candidate: Candidate) -> str:
    """Stands for all that a client can see of a candidate."""
    return hashlib.sha256("".join(one.digest for one in candidate).encode()).hexdigest()


def with_turn(candidate: Candidate, at: int, new: Turn) -> Candidate:
    """`candidate` with another answer in one place."""
    return (*candidate[:at], new, *candidate[at + 1 :])
