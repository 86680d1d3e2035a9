"""Everything with one id or index removed together: a call, a content block, an output item, a choice."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from toolstream_core.shrinking.candidate import with_turn
from toolstream_core.shrinking.numbering import Numbering, places
from toolstream_core.shrinking.passes.proposal import Proposal
from toolstream_core.shrinking.tree import nodes, without
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.model import Json
    from toolstream_core.shrinking.candidate import Candidate, Turn
    from toolstream_core.shrinking.passes.proposal import Cursor
    from toolstream_core.shrinking.pieces import Piece
    from toolstream_core.shrinking.tree import Path

type _Places = dict[int, list[Path]]
"""By piece: the paths in its JSON that tie it to a group."""


def proposals(candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
    """Without one group, the largest first; entries of arrays go alone, and events that have nothing else."""
    del cursor  # What is left after a group is gone is looked at anew.
    for at, turn in enumerate(candidate):
        numbering = Numbering(turn)
        for group in _groups(turn):
            for keep_empty in (False, True):
                kept = _without_group(turn, group, keep_empty=keep_empty)
                if not any(piece.counts for piece in kept):
                    continue
                for new in numbering.variants(kept):
                    yield Proposal(with_turn(candidate, at, turn.with_pieces(new)), ())


def _groups(turn: Turn) -> Sequence[_Places]:
    """The groups of an answer that have more than one event and not all of them."""
    found: dict[Json, _Places] = defaultdict(dict)
    for number, piece in enumerate(turn.pieces):
        for path, _, value in nodes(piece.frame.json):
            key = _key(path, value)
            if key is not None:
                found[key].setdefault(number, []).append(path)

    def bytes_of(group: _Places) -> int:
        return sum(turn.pieces[number].size for number in group)

    whole = sum(piece.frame.json is not None and piece.counts for piece in turn.pieces)
    return sorted((one for one in found.values() if 1 < len(one) < whole), key=bytes_of, reverse=True)


def _key(path: Path, value: Json) -> Json:
    if not path or not isinstance(path[-1], str):
        return None
    name = path[-1].lower()
    if isinstance(value, str) and value and name.endswith("id"):
        return value
    return (places(path), value) if type(value) is int and name.endswith("index") else None


def _without_group(turn: Turn, group: _Places, *, keep_empty: bool) -> list[Piece]:
    kept: list[Piece] = []
    for number, piece in enumerate(turn.pieces):
        if number not in group:
            kept.append(piece)
            continue
        payload = _without_entries(piece.frame.json, group[number], keep_empty=keep_empty)
        if payload is not None:
            kept.append(turn.framing.rewritten(piece, payload))
    return kept


def _without_entries(payload: Json, paths: Sequence[Path], *, keep_empty: bool) -> Json:
    """`payload` without the innermost array entries that hold `paths`; `None` where nothing is left to say."""
    entries = {_entry(path) for path in paths}
    if () in entries:
        return None
    for entry in sorted(entries, key=_places_in, reverse=True):
        payload = without(payload, entry)
        if not keep_empty and not json_access.get(payload, *entry[:-1]):
            return None
    return payload


def _entry(path: Path) -> Path:
    """The innermost array entry that holds what is at `path`; `()` where no array does."""
    for end in range(len(path), 0, -1):
        if isinstance(path[end - 1], int):
            return path[:end]
    return ()


def _places_in(path: Path) -> tuple[int, ...]:
    return tuple(step for step in path if isinstance(step, int))
