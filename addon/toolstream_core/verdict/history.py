"""What a request says beyond an earlier one, which is kept as digests: conversations are long."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True)
class History:
    """All that an earlier request said of tools, and its texts, as digests."""

    calls: tuple[Entry, ...] = ()
    results: tuple[Entry, ...] = ()
    texts: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Bytes that it takes in memory, about."""
        return _ENTRY * (len(self.calls) + len(self.results)) + 40 * len(self.texts)


def history_of(said: Conversation) -> History:
    """The digests of a request's conversation."""
    return History(
        tuple(Entry(one.id, _call(one)) for one in said.calls),
        tuple(Entry(one.id, _result(one)) for one in said.results),
        tuple(map(hash, said.texts)),
    )


def added(before: History, after: Conversation, own: Collection[str] = ()) -> Conversation:
    """What a request says beyond an earlier one of the same conversation.

    Clients shorten and rewrite old calls and results: one whose id the earlier request has is no new one, unless it
    is one of `own`, the ids of the answer between the two.
    """
    digests = list(map(hash, after.texts))
    return replace(
        after,
        calls=tuple(_beyond(before.calls, after.calls, [_call(one) for one in after.calls], own)),
        results=tuple(_beyond(before.results, after.results, [_result(one) for one in after.results], own)),
        texts=tuple(after.texts[place] for place in _new(before.texts, digests)),
    )


def _call(one: EchoedCall) -> int:
    return hash((one.id, one.name, one.arguments))


def _result(one: ToolResult) -> int:
    return hash((one.id, one.name, one.text))


def _beyond[T: (EchoedCall, ToolResult)](
    before: Sequence[Entry], after: Sequence[T], digests: Sequence[int], own: Collection[str]
) -> list[T]:
    new = [after[place] for place in _new([entry.digest for entry in before], digests)]
    still = Counter(digests)
    changed: Counter[str] = Counter()
    for entry in before:
        if still[entry.digest] > 0:
            still[entry.digest] -= 1
        elif entry.id:
            changed[entry.id] += 1
    kept: list[T] = []
    for one in new:
        if one.id and one.id not in own and changed[one.id] > 0:
            changed[one.id] -= 1
        else:
            kept.append(one)
    return kept


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
