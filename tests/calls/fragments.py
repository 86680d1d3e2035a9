"""Short ways to say fragments in tests. Knows the nouns."""

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
    id: Seen[str] = ABSENT,  # noqa: A002 - the wire's word
    name: Seen[str] = ABSENT,
    **more: object,
) -> Fragment:
    """A chat delta's entry; `index=ABSENT` for none."""
    return Fragment(index=index, id=id, name=name, arguments=arguments)._replace(**more)  # type: ignore[arg-type]


def resolved(calls: Calls, fragments: Iterable[Fragment]) -> list[Call]:
    """What the fragments mean, one event each, and then the end."""
    for number, fragment in enumerate(fragments):
        calls.take(fragment, number)
    calls.conclude(EventContent(end=True))
    return calls.resolved()


def said(calls: Iterable[Call]) -> list[tuple[str, str, str]]:
    """Id, name and arguments of each call."""
    return [(call.id, call.name, call.arguments) for call in calls]
