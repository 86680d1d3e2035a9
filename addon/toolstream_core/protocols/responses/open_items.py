"""Calls of a Responses answer by where they stand: those that are open, those that an event has not said yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.calls.open_call import OpenCall
    from toolstream_core.model import Kind

# Nothing here goes through all calls for one fragment: what is closed is taken out where it is met, once.


class StillOpen:
    """The calls that nothing has closed, the newest first."""

    def __init__(self) -> None:
        """None yet."""
        self._all: dict[Kind, list[OpenCall]] = {}
        self._at: dict[tuple[Kind, int | None], list[OpenCall]] = {}

    def add(self, call: OpenCall) -> None:
        """A call was opened."""
        place = call.index if isinstance(call.index, int) else None
        self._all.setdefault(call.kind, []).append(call)
        self._at.setdefault((call.kind, place), []).append(call)

    def newest(self, kind: Kind) -> Iterator[OpenCall]:
        """All of a kind."""
        return _open(self._all.get(kind, []))

    def at(self, index: int, kind: Kind) -> Iterator[OpenCall]:
        """Those of a kind at an index, or at none."""
        here, nowhere = _open(self._at.get((kind, index), [])), _open(self._at.get((kind, None), []))
        one, other = next(here, None), next(nowhere, None)
        while one is not None or other is not None:
            if other is None or (one is not None and one.position > other.position):
                assert one is not None
                yield one
                one = next(here, None)
            else:
                yield other
                other = next(nowhere, None)


class Told:
    """What one event, which says calls whole, has said so far."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._event = -1
        self._said: set[int] = set()
        self._first: dict[str, int] = {}
        """How many of the calls under a key were said, from the first on."""

    def add(self, call: OpenCall, event: int) -> None:
        """The event says a call."""
        self._begin(event)
        self._said.add(id(call))

    def others(self, key: str, calls: Sequence[OpenCall], event: int) -> Iterator[OpenCall]:
        """Those of `calls`, which are always the same for `key` and some more, that the event has not said."""
        self._begin(event)
        first = self._first.get(key, 0)
        while first < len(calls) and id(calls[first]) in self._said:
            first += 1
        self._first[key] = first
        return (calls[at] for at in range(first, len(calls)) if id(calls[at]) not in self._said)

    def _begin(self, event: int) -> None:
        if self._event != event:
            self._event, self._said, self._first = event, set(), {}


def _open(calls: list[OpenCall]) -> Iterator[OpenCall]:
    """From the end; those that are closed are taken out."""
    at = len(calls) - 1
    while at >= 0:
        if calls[at].closed:
            del calls[at]
        else:
            yield calls[at]
        at -= 1
