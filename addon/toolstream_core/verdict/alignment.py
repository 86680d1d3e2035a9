"""Which call that was sent came back as which, and which came back in pieces or glued together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.verdict.compare import INVALID, equal, leaves, same, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.model import Json
    from toolstream_core.protocols.requests.conversation import EchoedCall
    from toolstream_core.verdict.outcome import Meant


class Pair(NamedTuple):
    """A call that was sent, by its place, and what was said again for it."""

    place: int
    echoed: EchoedCall


def paired(meant: Sequence[Meant], echoed: Sequence[EchoedCall]) -> list[Pair]:
    """Which call was said again by which; the most alike first, then in order."""
    values = [value_of(one.arguments) for one in echoed]
    likely = sorted(
        (_unlikeness(call, value, one, values[at]), abs(at - place), place, at)
        for place, call in enumerate(meant)
        for value in [value_of(call.arguments)]
        for at, one in enumerate(echoed)
    )
    pairs: list[Pair] = []
    places: set[int] = set()
    taken: set[int] = set()
    for unlike, _, place, at in likely:
        if unlike < _STRANGERS and place not in places and at not in taken:
            places.add(place)
            taken.add(at)
            pairs.append(Pair(place, echoed[at]))
    return sorted(pairs, key=lambda pair: pair.place)


_STRANGERS = 7


def _unlikeness(call: Meant, value: Json, one: EchoedCall, other: Json) -> int:
    """0 for the same call, 7 for one that has nothing of it; `value` and `other` are their arguments."""
    same_id = bool(call.id) and call.id == one.id
    same_arguments = call.arguments == one.arguments or (value is not INVALID and equal(value, other))
    unlike = _STRANGERS - 4 * same_id - 2 * (call.name == one.name) - same_arguments
    return min(unlike, _STRANGERS - 1) if _is_repeated(call.name, one.name) else unlike


def _is_repeated(sent: str, again: str) -> bool:
    """Whether a name came back several times over."""
    times = len(again) // (len(sent) or 1)
    return times > 1 and again == sent * times


def is_same(call: Meant, one: EchoedCall) -> bool:
    """Whether a call came back as it was meant, under whatever id."""
    return call.name == one.name and same(call.arguments, one.arguments)


def said_again(calls: Sequence[Meant], echoed: Sequence[EchoedCall]) -> int:
    """How many calls came back as they were meant, under whatever ids."""
    left = list(echoed)
    for call in calls:
        found = next((one for one in left if is_same(call, one)), None)
        if found is not None:
            left.remove(found)
    return len(echoed) - len(left)


def is_piece(call: Meant, pair: Pair, one: EchoedCall) -> bool:
    """Whether a second call that came back is a part of one of which the first is not the whole."""
    if is_same(call, pair.echoed) or is_same(call, one):
        return False
    return _is_part(call, pair.echoed) and _is_part(call, one)


def _is_part(call: Meant, one: EchoedCall) -> bool:
    """Whether name and arguments, as far as there are any, are those of the call or a part of them."""
    if one.name and one.name not in call.name:
        return False
    if value_of(one.arguments) == {} or same(call.arguments, one.arguments):
        return True
    whole = _dense(call.arguments)
    return any(text and text in whole for text in _texts(one))


def is_merged(call: Meant, other: Meant, one: EchoedCall) -> bool:
    """Whether what came back holds two calls: both arguments in one text, both names in one, or something of each."""
    if one.name in (call.name + other.name, other.name + call.name):
        return True
    if call.name != other.name and not same(call.arguments, other.arguments):
        named, given = (call, other) if one.name == call.name else (other, call)
        if one.name == named.name and same(one.arguments, given.arguments):
            return True
    parts = [_dense(part.arguments) for part in (call, other)]
    if not all(len(part) > len("{}") for part in parts):
        return False
    return any(all(part in text for part in parts) and text not in parts for text in _texts(one))


def _texts(one: EchoedCall) -> Iterator[str]:
    """The arguments as text; where they are JSON, also the strings in it: some clients wrap what is not JSON."""
    yield _dense(one.arguments)
    value = value_of(one.arguments)
    if value is not INVALID:
        yield from map(_dense, leaves(value))


def _dense(text: str) -> str:
    return "".join(text.split())
