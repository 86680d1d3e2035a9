"""Short constructors of fragments, and short forms of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.model import ABSENT, EventContent, Fragment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import Calls
    from toolstream_core.model import Call, Seen


def delta(
    arguments: Seen[str] = ABSENT,
    index: Seen[int] = 0,
    id: Seen[str] = ABSENT,  # noqa: A002 - the field's name
    name: Seen[str] = ABSENT,
    **more: object,
) -> Fragment:
    """Return a fragment of a Chat Completions entry; `index=ABSENT` leaves out the index."""
    return Fragment(index=index, id=id, name=name, arguments=arguments)._replace(**more)  # type: ignore[arg-type]


def resolved(calls: Calls, fragments: Iterable[Fragment]) -> list[Call]:
    """Return the calls of fragments in one event each, after the end of the stream."""
    for number, fragment in enumerate(fragments):
        calls.take(fragment, number)
    calls.conclude(EventContent(end=True))
    return calls.resolved()


def call_tuples(calls: Iterable[Call]) -> list[tuple[str, str, str]]:
    """Return id, name and arguments of each call."""
    return [(call.id, call.name, call.arguments) for call in calls]
