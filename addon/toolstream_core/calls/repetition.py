"""Calls that are repeated with the same id: while their fragments arrive, and in the list of calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from itertools import takewhile
from typing import Final, NamedTuple

from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.calls.json_text import meaning
from toolstream_core.calls.scanner import WHITE
from toolstream_core.model import Call, Runs

MAX_SAME_ID: Final = 16
"""Number of calls of an id that are compared with a further one."""
_BEGINNING: Final = 256
"""Characters of incomplete arguments that are compared."""
_SPACE: Final = re.compile(rf"[{WHITE}]+")


class Compared(NamedTuple):
    """The facts that show whether a call repeats an earlier one of its id."""

    name: str
    meaning: str | None
    """The normal form of its arguments; `None` unless they are complete, and the client has no others."""
    beginning: str = ""
    """The beginning of its arguments, without white space."""
    settled: bool = True
    """Whether the call is over."""

    def repeats(self, earlier: Iterable[Compared]) -> bool | None:
        """Whether the call only repeats one of these; `None` while that is unknown."""
        alike = [one for one in earlier if self.name in ("", one.name)]
        if self.meaning is not None and any(one.meaning == self.meaning for one in alike):
            return True
        return None if any(map(self._may_repeat, alike)) else False

    def _may_repeat(self, other: Compared) -> bool:
        size = min(len(self.beginning), len(other.beginning))
        return not (self.settled and other.settled) and self.beginning[:size] == other.beginning[:size]


def beginning(arguments: ArgumentText) -> str:
    """As `Compared.beginning`."""
    return _SPACE.sub("", arguments.text()[:_BEGINNING])


class SameId[T]:
    """The first calls of each id, in order of arrival."""

    def __init__(self, compared: Callable[[T], Compared]) -> None:
        """`compared`: how a call compares with others now."""
        self._compared = compared
        self._calls: dict[Hashable, list[T]] = {}

    def add(self, identity: Hashable, call: T) -> bool:
        """Note that a call has this id; whether it is the first one."""
        known = self._calls.setdefault(identity, [])
        if call not in known and len(known) < MAX_SAME_ID:
            known.append(call)
        return known[0] is call

    def repeats(self, identity: Hashable, call: T) -> bool | None:
        """Whether a call only repeats an earlier one of its id; `None` while that is unknown."""
        earlier = list(takewhile(lambda one: one is not call, self._calls.get(identity, ())))
        return self._compared(call).repeats(map(self._compared, earlier)) if earlier else False


def without_repeated(calls: list[Call]) -> list[Call]:
    """The calls without those that repeat another one under its id."""
    kept: list[Call] = []
    first: dict[tuple[int, str], Call] = {}
    by_meaning: dict[tuple[int, str, str, str], Call] = {}
    again: dict[int, list[Runs]] = {}
    for call in calls:
        same = first.setdefault((call.choice, call.id), call)
        if same is call or not (call.id and call.complete):
            kept.append(call)
            continue
        if same.complete and id(same) not in again:
            again[id(same)] = [same.events]
            by_meaning.setdefault(_meaning(same), same)
        same = by_meaning.setdefault(_meaning(call), call)
        if same is call:
            kept.append(call)
        else:
            again.setdefault(id(same), [same.events]).append(call.events)
    for call in kept:
        if len(parts := again.get(id(call), [])) > 1:
            call.events = _merged(parts)
    return kept


def _meaning(call: Call) -> tuple[int, str, str, str]:
    """Equal for equal calls."""
    return call.choice, call.id, call.name, meaning(call.arguments)


def _merged(parts: list[Runs]) -> Runs:
    merged = Runs()
    for number in sorted({number for part in parts for number in part}):
        merged.add(number)
    return merged
