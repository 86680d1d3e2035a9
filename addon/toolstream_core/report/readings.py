"""What common wrong ways to put fragments together make of a stream."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.model import ABSENT, Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from toolstream_core.model import Call, Fragment, Seen

_STREAMED = frozenset({Phase.OPEN, Phase.MORE})


class ReadCall(NamedTuple):
    """A call as some client reads it."""

    name: str
    arguments: str


class Reading(NamedTuple):
    """A way to put fragments together that is wrong for some stream."""

    does: str
    """What such a client does, behind `a client that`."""
    by: str
    """The field that it goes by; where no fragment has that, nobody does so."""
    read: Callable[[Sequence[Fragment]], list[ReadCall]]


def wrong_readings(
    fragments: Iterable[Fragment], meant: Iterable[Call], *, repeats_ids: bool
) -> Iterator[tuple[str, list[ReadCall]]]:
    """What clients do whose calls are not those that were meant, and what they read; each result once.

    `repeats_ids`: as `WireProtocol.repeats_ids`, of the protocol that the fragments are of.
    """
    streamed = [one for one in fragments if one.phase in _STREAMED]
    right = [_as_run(ReadCall(call.name, call.arguments)) for call in meant]
    seen = [right]
    for reading in READINGS:
        by_identity = reading.by in {"id", "name"}
        if (repeats_ids and by_identity) or all(getattr(one, reading.by) is ABSENT for one in streamed):
            continue
        read = reading.read(streamed)
        if [_as_run(one) for one in read] not in seen:
            seen.append([_as_run(one) for one in read])
            yield reading.does, read


def _as_run(call: ReadCall) -> ReadCall:
    """Nothing means no arguments, and no client is wrong there."""
    return call if call.arguments else call._replace(arguments="{}")


def _one_after_the_other(begins: Callable[[Fragment, str], bool], fragments: Sequence[Fragment]) -> list[ReadCall]:
    """`begins` says whether a fragment begins a new call, behind one with this id."""
    calls: list[ReadCall] = []
    last_id = ""
    for one in fragments:
        if not calls or begins(one, last_id):
            calls.append(ReadCall("", ""))
        calls[-1] = _joined(calls[-1], one)
        last_id = _text(one.id) or last_id
    return calls


def _by_index(fragments: Sequence[Fragment]) -> list[ReadCall]:
    calls: dict[tuple[int, Seen[int]], ReadCall] = {}
    for one in fragments:
        place = (one.choice, one.index)
        calls[place] = _joined(calls.get(place, ReadCall("", "")), one)
    return list(calls.values())


def _joined(call: ReadCall, fragment: Fragment) -> ReadCall:
    return ReadCall(call.name or _text(fragment.name), call.arguments + _text(fragment.arguments))


def _text(seen: Seen[str]) -> str:
    return seen if isinstance(seen, str) else ""


def _has_id(one: Fragment, last_id: str) -> bool:
    del last_id
    return one.id is not ABSENT


def _has_other_id(one: Fragment, last_id: str) -> bool:
    return bool(one.id) and one.id != last_id


def _has_name(one: Fragment, last_id: str) -> bool:
    del last_id
    return one.name is not ABSENT


READINGS: Final = (
    Reading("starts a new call for each `id`", "id", partial(_one_after_the_other, _has_id)),
    Reading("starts a new call for each new `id`", "id", partial(_one_after_the_other, _has_other_id)),
    Reading("starts a new call for each name", "name", partial(_one_after_the_other, _has_name)),
    Reading("matches on the index only", "index", _by_index),
)
