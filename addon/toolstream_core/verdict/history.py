"""What a request says beyond an earlier one, which is kept as digests: conversations are long."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from toolstream_core.protocols.requests.conversation import Conversation, EchoedCall, ToolResult

_ENTRY = 200
"""Bytes that one entry takes in memory, about."""


class Entry(NamedTuple):
    """A call or a result of an earlier request."""

    id: str | None
    digest: int
    content: int
    """The digest of all but the id."""


@dataclass(frozen=True, slots=True)
class History:
    """All that an earlier request said of tools, and its texts, as digests."""

    calls: tuple[Entry, ...] = ()
    results: tuple[Entry, ...] = ()
    texts: tuple[int, ...] = ()
    last: int = field(default=0, compare=False)
    """The length of the last text."""

    @property
    def size(self) -> int:
        """Bytes that it takes in memory, about."""
        return _ENTRY * (len(self.calls) + len(self.results)) + 40 * len(self.texts)


def history_of(said: Conversation) -> History:
    """The digests of a request's conversation."""
    return History(
        tuple(map(_call, said.calls)),
        tuple(map(_result, said.results)),
        tuple(map(hash, said.texts)),
        len(said.texts[-1]) if said.texts else 0,
    )


def added(before: History, after: Conversation, own: Collection[str] = ()) -> Conversation:
    """What a request says beyond an earlier one of the same conversation.

    Clients shorten and rewrite old calls and results, and some make up their ids anew: one whose id, or all but the
    id, the earlier request has is no new one, unless its id is one of `own`, those of the answer between the two.
    """
    digests = list(map(hash, after.texts))
    calls = [after.calls[place] for place in _beyond(before.calls, [*map(_call, after.calls)], own)]
    new_ids = {one.id for one in calls}
    return replace(
        after,
        calls=tuple(calls),
        results=tuple(
            after.results[place] for place in _beyond(before.results, [*map(_result, after.results)], own, new_ids)
        ),
        texts=tuple(after.texts[place] for place in _new(before.texts, digests)),
    )


def _call(one: EchoedCall) -> Entry:
    return _entry(one.id, one.name, one.arguments)


def _result(one: ToolResult) -> Entry:
    return _entry(one.id, one.name, one.text)


def _entry(identity: str | None, name: str, text: str) -> Entry:
    content = hash((name, text))
    return Entry(identity, hash((identity, content)), content)


def _beyond(
    before: Sequence[Entry], after: Sequence[Entry], own: Collection[str], new: Collection[str | None] = ()
) -> list[int]:
    """The places in `after` of what `before` has neither as it is, nor under its id, nor under another id.

    What has an id of `own` is new if it is not there as it is; one of `new`, also where another had its content.
    """
    old, again = ([one.digest for one in entries] for entries in (before, after))
    places = _new(old, again)
    gone = [before[place] for place in _new(again, old)]
    by_id = Counter(one.id for one in gone if one.id)
    places = [place for place in places if after[place].id in own or not _taken(by_id, after[place].id)]
    if len(after) < len(before):
        return places  # old ones were left out
    by_content = Counter(one.content for one in gone if not one.id or _taken(by_id, one.id))
    kept = {*own, *new}
    return [place for place in places if after[place].id in kept or not _taken(by_content, after[place].content)]


def _taken[T](left: Counter[T], key: T | None) -> bool:
    """Whether there is one of that key, which is taken then."""
    if key is None or left[key] < 1:
        return False
    left[key] -= 1
    return True


def _new(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """The places in `after` of what is there more often than in `before`: of equal ones the last are new."""
    left = Counter(after)
    left.subtract(before)
    places: list[int] = []
    for place in range(len(after) - 1, -1, -1):
        if left[after[place]] > 0:
            left[after[place]] -= 1
            places.append(place)
    return places[::-1]
