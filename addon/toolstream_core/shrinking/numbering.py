"""Numbers that count events or calls, recognised by their sequence; renumbered where some are removed."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from toolstream_core.shrinking.tree import nodes, put

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.model import Json
    from toolstream_core.shrinking.candidate import Turn
    from toolstream_core.shrinking.pieces import Piece
    from toolstream_core.shrinking.tree import Path

_FEWEST = 3
"""Numbers that have to follow one another before they are taken for a count."""


def places(path: Path) -> Path:
    """A path with `*` for each place in an array."""
    return tuple("*" if isinstance(step, int) else step for step in path)


class Numbering:
    """The numbers in the events of one answer that count or index."""

    def __init__(self, turn: Turn) -> None:
        """Find them in `turn`."""
        self._framing = turn.framing
        seen: dict[Path, list[int]] = defaultdict(list)
        for piece in turn.pieces:
            for path, number in _numbers(piece.frame.json):
                seen[places(path)].append(number)
        self._counts = {path: numbers[0] for path, numbers in seen.items() if _counts(numbers)}
        self._indexes = {path for path, numbers in seen.items() if _is_index(path, numbers)}

    def variants(self, kept: Sequence[Piece]) -> list[list[Piece]]:
        """`kept` with its numbers closed up, and as it is; only once if both are equal."""
        renumbered = self._renumbered(kept)
        return [renumbered] if renumbered == list(kept) else [renumbered, list(kept)]

    def _renumbered(self, kept: Sequence[Piece]) -> list[Piece]:
        remaining: dict[Path, set[int]] = defaultdict(set)
        for piece in kept:
            for path, number in _numbers(piece.frame.json):
                remaining[places(path)].add(number)
        ranks = {path: {old: new for new, old in enumerate(sorted(remaining[path]))} for path in self._indexes}
        counts = dict(self._counts)
        return [self._numbered(piece, ranks, counts) for piece in kept]

    def _numbered(self, piece: Piece, ranks: dict[Path, dict[int, int]], counts: dict[Path, int]) -> Piece:
        new = old = piece.frame.json
        for path, number in _numbers(old):
            place = places(path)
            if place in ranks:
                expected = ranks[place][number]
            elif place in counts:
                expected = counts[place]
                counts[place] += 1
            else:
                continue
            if expected != number:
                new = put(new, path, expected)
        return piece if new is old else self._framing.rewritten(piece, new)


def _numbers(payload: Json) -> Iterable[tuple[Path, int]]:
    for path, _, value in nodes(payload):
        if type(value) is int:
            yield path, value


def _counts(numbers: Sequence[int]) -> bool:
    return len(numbers) >= _FEWEST and list(numbers) == list(range(numbers[0], numbers[0] + len(numbers)))


def _is_index(path: Path, numbers: Sequence[int]) -> bool:
    named = bool(path) and isinstance(path[-1], str) and path[-1].lower().endswith("index")
    return named and set(numbers) == set(range(len(set(numbers)))) and len(set(numbers)) > 1
