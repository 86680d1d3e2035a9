"""Passes that remove responses and events. Also the definition of a pass."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from toolstream_core.model import ABSENT, Json
from toolstream_core.shrinking.candidate import (
    Candidate,
    Turn,
    TurnFrame,
    in_own_chunk,
    nodes,
    with_turn,
)
from toolstream_core.wire import json_access
from toolstream_core.wire.json_paths import Path

type Cursor = tuple[int, ...]
"""The position of a pass, specific to it; `()` is the beginning."""


class Proposal(NamedTuple):
    """A candidate that may replace the previous one."""

    candidate: Candidate
    resume: Cursor
    """The cursor for `candidate`, if it is taken."""


class Pass(NamedTuple):
    """A way to make candidates smaller."""

    name: str
    proposals: Callable[[Candidate, Cursor], Iterator[Proposal]]
    careful: bool = False
    """Whether a candidate may not gain a note either; for passes that change events instead of removing them."""


class Span(NamedTuple):
    """Neighbours that may be removed from a list."""

    begin: int
    end: int
    resume: Cursor


def spans(count: int, cursor: Cursor) -> Iterator[Span]:
    """Spans of `count` items: all, the two halves, the quarters, … each single one; from the end to the beginning."""
    size, end = cursor or (count, count)
    while size:
        while end > 0:
            begin = max(0, end - size)
            yield Span(begin, end, (size, begin))
            end = begin
        size, end = size // 2, count


_FEWEST = 3
"""The minimum number of consecutive numbers that are treated as a count."""


def places(path: Path) -> Path:
    """A path with `*` for each place in an array."""
    return tuple("*" if isinstance(step, int) else step for step in path)


class Numbering:
    """The numbers in the events of one response that are counters or indexes."""

    def __init__(self, turn: Turn) -> None:
        self._framing = turn.framing
        seen: dict[Path, list[int]] = defaultdict(list)
        for part in turn.frames:
            for path, number in _numbers(part.frame.json):
                seen[places(path)].append(number)
        self._counts = {path: numbers[0] for path, numbers in seen.items() if _counts(numbers)}
        self._indexes = {path for path, numbers in seen.items() if _is_index(path, numbers)}

    def variants(self, kept: Sequence[TurnFrame]) -> list[list[TurnFrame]]:
        """`kept` with its numbers closed up, and unchanged; only once if both are equal."""
        renumbered = self._renumbered(kept)
        return [renumbered] if renumbered == list(kept) else [renumbered, list(kept)]

    def _renumbered(self, kept: Sequence[TurnFrame]) -> list[TurnFrame]:
        remaining: dict[Path, set[int]] = defaultdict(set)
        for part in kept:
            for path, number in _numbers(part.frame.json):
                remaining[places(path)].add(number)
        ranks = {path: {old: new for new, old in enumerate(sorted(remaining[path]))} for path in self._indexes}
        counts = dict(self._counts)
        return [self._numbered(part, ranks, counts) for part in kept]

    def _numbered(self, part: TurnFrame, ranks: dict[Path, dict[int, int]], counts: dict[Path, int]) -> TurnFrame:
        changes: dict[Path, Json] = {}
        for path, number in _numbers(part.frame.json):
            place = places(path)
            if place in ranks:
                expected = ranks[place][number]
            elif place in counts:
                expected = counts[place]
                counts[place] += 1
            else:
                continue
            if expected != number:
                changes[path] = expected
        return self._framing.rewritten(part, changes)


def _numbers(payload: Json) -> Iterable[tuple[Path, int]]:
    for path, _, value in nodes(payload):
        if type(value) is int:
            yield path, value


def _counts(numbers: Sequence[int]) -> bool:
    return len(numbers) >= _FEWEST and list(numbers) == list(range(numbers[0], numbers[0] + len(numbers)))


def _is_index(path: Path, numbers: Sequence[int]) -> bool:
    named = bool(path) and isinstance(path[-1], str) and path[-1].lower().endswith("index")
    return named and set(numbers) == set(range(len(set(numbers)))) and len(set(numbers)) > 1


def single_chunks(candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
    """Each response, with each event as a chunk without delay: the network's chunks seldom matter."""
    for at in range(cursor[0] if cursor else 0, len(candidate)):
        turn = candidate[at]
        plain = tuple(map(in_own_chunk, turn.frames))
        if plain != turn.frames:
            yield Proposal(with_turn(candidate, at, turn.with_frames(plain)), (at + 1,))


def fewer_responses(candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
    """Without some of the responses."""
    for span in spans(len(candidate), cursor):
        yield Proposal(candidate[: span.begin] + candidate[span.end :], span.resume)


def fewer_events(candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
    """Without some events of one response: first with the others renumbered, then with their own numbers."""
    last = cursor[0] if cursor else len(candidate) - 1
    for at in range(last, -1, -1):
        turn = candidate[at]
        numbering = Numbering(turn)
        removable = [number for number, part in enumerate(turn.frames) if not turn.framing.is_required(part)]
        for span in spans(len(removable), cursor[1:] if at == last else ()):
            gone = set(removable[span.begin : span.end])
            kept = [part for number, part in enumerate(turn.frames) if number not in gone]
            if any(part.counts for part in kept):
                for new in numbering.variants(kept):
                    yield Proposal(with_turn(candidate, at, turn.with_frames(new)), (at, *span.resume))


type _Places = dict[int, list[Path]]
"""By frame: the paths in its JSON that assign it to a group."""


def fewer_groups(candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
    """Without one group, the largest first: removes only entries of arrays, and events that have nothing else."""
    del cursor  # After the removal of a group, the groups are computed again.
    for at, turn in enumerate(candidate):
        numbering = Numbering(turn)
        for group in _groups(turn):
            for keep_empty in (False, True):
                kept = _without_group(turn, group, keep_empty=keep_empty)
                if not any(part.counts for part in kept):
                    continue
                for new in numbering.variants(kept):
                    yield Proposal(with_turn(candidate, at, turn.with_frames(new)), ())


def _groups(turn: Turn) -> Sequence[_Places]:
    """The groups of a response that have more than one event and not all of them."""
    found: dict[Json, _Places] = defaultdict(dict)
    for number, part in enumerate(turn.frames):
        for path, _, value in nodes(part.frame.json):
            key = _key(path, value)
            if key is not None:
                found[key].setdefault(number, []).append(path)

    def bytes_of(group: _Places) -> int:
        return sum(turn.frames[number].size for number in group)

    counted_frames = sum(part.frame.json is not None and part.counts for part in turn.frames)
    return sorted((one for one in found.values() if 1 < len(one) < counted_frames), key=bytes_of, reverse=True)


def _key(path: Path, value: Json) -> Json:
    if not path or not isinstance(path[-1], str):
        return None
    name = path[-1].lower()
    if isinstance(value, str) and value and name.endswith("id"):
        return value
    return (places(path), value) if type(value) is int and name.endswith("index") else None


def _without_group(turn: Turn, group: _Places, *, keep_empty: bool) -> list[TurnFrame]:
    kept: list[TurnFrame] = []
    for number, part in enumerate(turn.frames):
        if number not in group:
            kept.append(part)
            continue
        changes = _without_entries(part.frame.json, group[number], keep_empty=keep_empty)
        if changes is not None:
            kept.append(turn.framing.rewritten(part, changes))
    return kept


def _without_entries(payload: Json, paths: Sequence[Path], *, keep_empty: bool) -> dict[Path, Json] | None:
    """The removal of the innermost array entries that contain `paths`, inner ones first; `None` if nothing remains."""
    entries = {_entry(path) for path in paths}
    if () in entries:
        return None
    removed = Counter(entry[:-1] for entry in entries)
    if not keep_empty and any(len(json_access.get(payload, *array)) == count for array, count in removed.items()):
        return None
    return dict.fromkeys(sorted(entries, key=len, reverse=True), ABSENT)


def _entry(path: Path) -> Path:
    """The innermost array entry that contains `path`; `()` if there is none."""
    for end in range(len(path), 0, -1):
        if isinstance(path[end - 1], int):
            return path[:end]
    return ()
