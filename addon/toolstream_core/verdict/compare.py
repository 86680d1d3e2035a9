"""Arguments compared, and what one request says beyond another."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from toolstream_core.protocols.requests.conversation import Conversation

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from toolstream_core.model import Json


def added(before: Conversation, after: Conversation) -> Conversation:
    """What a request says beyond an earlier one of the same conversation."""
    return Conversation(
        tuple(beyond(before.calls, after.calls, lambda one: (one.id, one.name, canonical(one.arguments)))),
        tuple(beyond(before.results, after.results, lambda one: (one.id, one.name, one.text))),
        tuple(beyond(before.texts, after.texts, lambda one: one)),
        after.continues,
    )


def canonical(arguments: str) -> str:
    """Arguments so that equal ones are equal text: order of keys and spaces do not count, nothing is `{}`."""
    value = value_of(arguments)
    return arguments if value is INVALID else json.dumps(value, sort_keys=True)


INVALID = object()


def value_of(arguments: str) -> Json:
    """What arguments say; `INVALID` where they are not JSON."""
    try:
        return json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return INVALID


def beyond[T](before: Iterable[T], after: Iterable[T], key: _Key[T]) -> Iterable[T]:
    """What is in `after` more often than in `before`, by its key, in order."""
    left = Counter(map(key, before))
    for one in after:
        if left[key(one)] > 0:
            left[key(one)] -= 1
        else:
            yield one


class _Key[T](Protocol):
    def __call__(self, one: T, /) -> Hashable: ...


def same(arguments: str, again: str) -> bool:
    """Whether two texts of arguments mean the same."""
    return canonical(arguments) == canonical(again)
