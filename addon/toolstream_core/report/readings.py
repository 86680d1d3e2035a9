"""What common wrong ways to put fragments together make of a stream."""

from __future__ import annotations

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
    begins: Callable[[Fragment, Fragment], bool]
    """Whether a fragment begins a new call behind the one before it."""


def _other(new: Seen[object], old: Seen[object]) -> bool:
    return new is not ABSENT and new != old


READINGS: Final = (
    Reading(
        "takes each `id` that is there for a new call",
        lambda new, old: new.id is not ABSENT,  # noqa: ARG005
    ),
    Reading(
        "takes each `id` that differs from the one before for a new call",
        lambda new, old: bool(new.id) and new.id != old.id,
    ),
    Reading(
        "takes each name that is there for a new call",
        lambda new, old: new.name is not ABSENT,  # noqa: ARG005
    ),
    Reading(
        "goes by the index alone",
        lambda new, old: _other(new.index, old.index),
    ),
)


def wrong_readings(fragments: Sequence[Fragment], meant: Iterable[Call]) -> Iterator[tuple[Reading, list[ReadCall]]]:
    """The readings whose calls are not those that were meant, each with what it reads; each result once."""
    streamed = [one for one in fragments if one.phase in _STREAMED]
    right = [ReadCall(call.name, call.arguments) for call in meant]
    seen = [right]
    for reading in READINGS if streamed else ():
        read = _read(streamed, reading)
        if [_empty_as_object(one) for one in read] != right and read not in seen:
            seen.append(read)
            yield reading, read


def _empty_as_object(call: ReadCall) -> ReadCall:
    """Nothing means no arguments, and no client is wrong there."""
    return call if call.arguments else call._replace(arguments="{}")


def _read(fragments: Sequence[Fragment], reading: Reading) -> list[ReadCall]:
    calls: list[ReadCall] = []
    before: Fragment | None = None
    for one in fragments:
        name, arguments = _text(one.name), _text(one.arguments)
        if before is None or reading.begins(one, before):
            calls.append(ReadCall(name, arguments))
        else:
            last = calls[-1]
            calls[-1] = ReadCall(last.name or name, last.arguments + arguments)
        before = one._replace(id=one.id or (before.id if before else one.id))
    return calls


def _text(seen: Seen[str]) -> str:
    return seen if isinstance(seen, str) else ""
