"""Fields of the events' JSON removed or emptied, everywhere at once, then one by one.

What a protocol demands is not known here: a field that every object of its kind has in the original stays.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.engine.session import read_body
from toolstream_core.shrinking.candidate import with_turn
from toolstream_core.shrinking.passes.proposal import Proposal
from toolstream_core.shrinking.tree import nodes, put, without
from toolstream_core.wire.frame import parse
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from toolstream_core.model import Json
    from toolstream_core.shrinking.candidate import Candidate, Turn
    from toolstream_core.shrinking.passes.proposal import Cursor
    from toolstream_core.shrinking.tree import Path, Shape

type Required = Mapping[Shape, frozenset[str]]
"""By the shape of an object, the keys that all such objects have."""


class _Place(NamedTuple):
    piece: int
    path: Path
    value: Json


def required(original: Candidate) -> Required:
    """The keys that all objects of one shape have."""
    found: dict[Shape, frozenset[str]] = {}
    for turn in original:
        arguments = _arguments(turn)
        for piece in turn.pieces:
            for shape, value in _objects(piece.frame.json, arguments):
                found[shape] = found.get(shape, frozenset(value)) & frozenset(value)
    return found


def _arguments(turn: Turn) -> frozenset[bytes]:
    """The arguments of all calls, as compact JSON: their keys are the tool's, not the protocol's."""
    record = read_body((chunk.data for chunk in turn.chunks), turn.exchange, broken=turn.broken)
    calls = record.calls if record is not None else []
    values = (parse(call.arguments.encode("utf-8", "replace")) for call in calls)
    return frozenset(encoded(value) for value in values if isinstance(value, dict) and value)


def proposals(needed: Required) -> Callable[[Candidate, Cursor], Iterator[Proposal]]:
    """The pass that leaves what is `needed`."""
    return partial(_proposals, needed)


def _proposals(needed: Required, candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
    del cursor  # After a change the fields are looked at anew.
    for at, turn in enumerate(candidate):
        for smaller in _smaller(turn, needed):
            yield Proposal(with_turn(candidate, at, smaller), ())


def _smaller(turn: Turn, needed: Required) -> Iterator[Turn]:
    fields = _fields(turn)
    for shape, places in fields:
        optional = [place for place in places if _optional(place, turn, needed)]
        if optional:
            yield _edited(turn, optional, _removed)
        changed = [place for place in places if _emptied(place, needed, shape) is not place.value]
        if changed:
            yield _edited(turn, changed, partial(_put_empty, needed, shape))
    for _, places in fields:
        for place in reversed(places):
            if len(places) > 1 and _optional(place, turn, needed):
                yield _edited(turn, [place], _removed)


def _objects(payload: Json, arguments: frozenset[bytes]) -> Iterator[tuple[Shape, dict[str, Json]]]:
    """The objects in an event's JSON, but for those that are `arguments` or within them."""
    inside: tuple[Path, ...] = ()
    for path, shape, value in nodes(payload):
        if not isinstance(value, dict) or any(path[: len(one)] == one for one in inside):
            continue
        if arguments and encoded(value) in arguments:
            inside = (*inside, path)
        else:
            yield _kind(shape, value), value


def _kind(shape: Shape, value: dict[str, Json]) -> Shape:
    kind = value.get("type")
    return (*shape, f"<{kind}>") if isinstance(kind, str) else shape


def _fields(turn: Turn) -> list[tuple[Shape, list[_Place]]]:
    """Fields and array entries by their shape, those with the most bytes first."""
    found: dict[Shape, list[_Place]] = defaultdict(list)
    for number, piece in enumerate(turn.pieces):
        for path, shape, value in nodes(piece.frame.json):
            if path:
                found[shape].append(_Place(number, path, value))

    def bytes_of(entry: tuple[Shape, list[_Place]]) -> int:
        return sum(len(encoded(place.value)) for place in entry[1])

    return sorted(found.items(), key=bytes_of, reverse=True)


def _optional(place: _Place, turn: Turn, needed: Required) -> bool:
    *above, last = place.path
    if isinstance(last, int):
        return True
    payload = turn.pieces[place.piece].frame.json
    shape = next(shape for path, shape, _ in nodes(payload) if path == place.path)
    return bool(above or last) and last not in needed.get(shape[:-1], frozenset())


def _emptied(place: _Place, needed: Required, shape: Shape) -> Json:
    """A simpler value of the same type; the value itself where there is none."""
    value = place.value
    if isinstance(value, list) and value:
        return []
    if isinstance(value, dict) and value and not needed.get(_kind(shape, value)):
        return {}
    if isinstance(value, int | float) and not isinstance(value, bool) and value:
        return 0
    return value


def _put_empty(needed: Required, shape: Shape, payload: Json, place: _Place) -> Json:
    return put(payload, place.path, _emptied(place, needed, shape))


def _removed(payload: Json, place: _Place) -> Json:
    return without(payload, place.path)


def _edited(turn: Turn, places: list[_Place], edit: Callable[[Json, _Place], Json]) -> Turn:
    pieces = list(turn.pieces)
    for place in reversed(places):  # from the back, so that places in arrays still hold
        piece = pieces[place.piece]
        pieces[place.piece] = turn.framing.rewritten(piece, edit(piece.frame.json, place))
    return turn.with_pieces(pieces)
