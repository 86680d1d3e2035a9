"""Indexes over the calls of a response: finding a fragment's call never visits all of them."""

from __future__ import annotations

from heapq import merge
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.calls.open_call import OpenCall
    from toolstream_core.model import Kind

# Closed calls are removed from the lists where they are met, each once.


class OpenCalls:
    """The calls that no event has closed, the newest first."""

    def __init__(self) -> None:
        self._by_kind: dict[Kind, list[OpenCall]] = {}
        self._by_index: dict[tuple[Kind, int | None], list[OpenCall]] = {}

    def add(self, call: OpenCall) -> None:
        """Add a call that was opened."""
        index = call.index if isinstance(call.index, int) else None
        self._by_kind.setdefault(call.kind, []).append(call)
        self._by_index.setdefault((call.kind, index), []).append(call)

    def newest(self, kind: Kind) -> Iterator[OpenCall]:
        """All of a kind."""
        return _open(self._by_kind.get(kind, []))

    def newest_at(self, index: int, kind: Kind) -> OpenCall | None:
        """The newest of a kind at an index, where it is open and all of the kind have an index."""
        here = self._by_index.get((kind, index))
        if not here or here[-1].closed or self._by_index.get((kind, None)):
            return None
        return here[-1]

    def at(self, index: int, kind: Kind) -> Iterator[OpenCall]:
        """Those of a kind at an index, and those without an index."""
        both = [_open(self._by_index.get((kind, place), [])) for place in (index, None)]
        return merge(*both, key=lambda call: call.position, reverse=True)


class CallsOfEvent:
    """The calls that a terminal event has had so far, out of those in its `output`."""

    def __init__(self) -> None:
        self._event = -1
        self._calls: set[int] = set()
        self._first: dict[str, int] = {}
        """By key: how many of its calls, from the first on, the event has had."""

    def add(self, call: OpenCall, event: int) -> None:
        """The event has a call."""
        self._begin(event)
        self._calls.add(id(call))

    def others(self, key: str, calls: Sequence[OpenCall], event: int) -> Iterator[OpenCall]:
        """Those of `calls` that the event has not had; `calls` may only grow between two questions for one `key`."""
        self._begin(event)
        first = self._first.get(key, 0)
        while first < len(calls) and id(calls[first]) in self._calls:
            first += 1
        self._first[key] = first
        return (calls[at] for at in range(first, len(calls)) if id(calls[at]) not in self._calls)

    def _begin(self, event: int) -> None:
        if self._event != event:
            self._event, self._calls, self._first = event, set(), {}


def _open(calls: list[OpenCall]) -> Iterator[OpenCall]:
    """The open calls from the end; closed ones are removed."""
    at = len(calls) - 1
    while at >= 0:
        if calls[at].closed:
            del calls[at]
        else:
            yield calls[at]
        at -= 1
