"""Recognises calls that repeat an earlier call with the same id."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from itertools import takewhile
from typing import Final, NamedTuple

from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.calls.json_text import canonical
from toolstream_core.calls.scanner import WHITE
from toolstream_core.model import Call, Runs

MAX_SAME_ID: Final = 16
"""Number of calls of an id that are compared with a further one."""
_BEGINNING: Final = 256
"""Characters of incomplete arguments that are compared."""
_SPACE: Final = re.compile(rf"[{WHITE}]+")


class Compared(NamedTuple):
    """The facts of a call for comparison with an earlier call of its id."""

    name: str
    canonical: str | None
    """The canonical form of its arguments; `None` unless they are complete, and the client has no others."""
    beginning: str = ""
    """The beginning of its arguments, without white space."""
    ended: bool = True
    """Whether the call has ended."""

    def repeats(self, earlier: Iterable[Compared]) -> bool | None:
        """Whether the call only repeats one of these; `None` while that is unknown."""
        alike = [one for one in earlier if self.name in ("", one.name)]
        if self.canonical is not None and any(one.canonical == self.canonical for one in alike):
            return True
        return None if any(map(self._may_repeat, alike)) else False

    def _may_repeat(self, other: Compared) -> bool:
        size = min(len(self.beginning), len(other.beginning))
        return not (self.ended and other.ended) and self.beginning[:size] == other.beginning[:size]


def beginning(arguments: ArgumentText) -> str:
    """As `Compared.beginning`."""
    return _SPACE.sub("", arguments.text()[:_BEGINNING])


class SameId[T]:
    """The first `MAX_SAME_ID` calls of each id, in order."""

    def __init__(self, compared: Callable[[T], Compared]) -> None:
        """`compared` returns the facts of a call."""
        self._compared = compared
        self._calls: dict[Hashable, list[T]] = {}

    def add(self, identity: Hashable, call: T) -> bool:
        """Add a call. Returns whether it is the first one with this id."""
        known = self._calls.setdefault(identity, [])
        if call not in known and len(known) < MAX_SAME_ID:
            known.append(call)
        return known[0] is call

    def repeats(self, identity: Hashable, call: T) -> bool | None:
        """Whether a call only repeats an earlier one of its id; `None` while that is unknown."""
        earlier = list(takewhile(lambda one: one is not call, self._calls.get(identity, ())))
        return self._compared(call).repeats(map(self._compared, earlier)) if earlier else False


def without_repeated(calls: list[Call]) -> list[Call]:
    """Remove calls that repeat another one with the same id."""
    kept: list[Call] = []
    first: dict[tuple[int, str], Call] = {}
    by_key: dict[tuple[int, str, str, str], Call] = {}
    again: dict[int, list[Runs]] = {}
    for call in calls:
        same = first.setdefault((call.choice, call.id), call)
        if same is call or not (call.id and call.complete):
            kept.append(call)
            continue
        if same.complete and id(same) not in again:
            again[id(same)] = [same.events]
            by_key.setdefault(_key(same), same)
        same = by_key.setdefault(_key(call), call)
        if same is call:
            kept.append(call)
        else:
            again.setdefault(id(same), [same.events]).append(call.events)
    for call in kept:
        if len(parts := again.get(id(call), [])) > 1:
            call.events = _merged(parts)
    return kept


def _key(call: Call) -> tuple[int, str, str, str]:
    """Equal for equal calls."""
    return call.choice, call.id, call.name, canonical(call.arguments)


def _merged(parts: list[Runs]) -> Runs:
    merged = Runs()
    for number in sorted({number for part in parts for number in part}):
        merged.add(number)
    return merged
