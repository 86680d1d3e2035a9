"""The calls of one response without repetitions. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.json_text import meaning
from toolstream_core.model import Runs

if TYPE_CHECKING:
    from toolstream_core.model import Call


def said_once(calls: list[Call]) -> list[Call]:
    """The calls without those that repeat another one under its id."""
    kept: list[Call] = []
    first: dict[tuple[int, str], Call] = {}
    said: dict[tuple[int, str, str, str], Call] = {}
    again: dict[int, list[Runs]] = {}
    for call in calls:
        twin = first.setdefault((call.choice, call.id), call)
        if twin is call or not (call.id and call.complete):
            kept.append(call)
            continue
        if twin.complete and id(twin) not in again:
            again[id(twin)] = [twin.events]
            said.setdefault(_meaning(twin), twin)
        twin = said.setdefault(_meaning(call), call)
        if twin is call:
            kept.append(call)
        else:
            again.setdefault(id(twin), [twin.events]).append(call.events)
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


def numbered(calls: list[Call]) -> list[Call]:
    """The calls with positions counted anew per choice, after repetitions were removed."""
    counts: dict[int, int] = {}
    for call in calls:
        call.position = counts.get(call.choice, 0)
        counts[call.choice] = call.position + 1
    return calls
