"""Which call that was sent came back as which."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.verdict.compare import same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.protocols.requests.conversation import EchoedCall
    from toolstream_core.verdict.outcome import Meant


class Pair(NamedTuple):
    """A call that was sent, by its place, and what was said again for it."""

    place: int
    echoed: EchoedCall


def paired(meant: Sequence[Meant], echoed: Sequence[EchoedCall]) -> list[Pair]:
    """Which call was said again by which; the most alike first, then in order."""
    likely = sorted(
        (_unlikeness(call, one), abs(at - place), place, at)
        for place, call in enumerate(meant)
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


def _unlikeness(call: Meant, one: EchoedCall) -> int:
    """0 for the same call, 7 for one that has nothing of it."""
    same_id = bool(call.id) and call.id == one.id
    same_arguments = same(call.arguments, one.arguments)
    return 7 - 4 * same_id - 2 * (call.name == one.name) - same_arguments
