"""One layer around a stream: what people paste is taken off layer by layer, because one form stands inside another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from toolstream_core.saved.unwrap.events import Scanner
from toolstream_core.saved.unwrap.lines import split


class Layer(NamedTuple):
    """One layer to take off."""

    name: str
    message: str
    """The removed layer, for notes."""
    apply: Callable[[Iterable[str]], Iterator[str]]


type FindLayer = Callable[[Sequence[str]], Layer | None]
"""Gets the first 64 KB of a text as lines, and returns the layer that it knows by them."""

MOST: Final = 0.6
"""The part of the lines that has to be of a form."""
FEW: Final = 3
"""Lines from which on they show a form."""


def gains(lines: Sequence[str], texts: Iterable[str]) -> bool:
    """Whether texts put together hold more events than the lines by themselves."""
    return _events(split(texts)) > _events(lines)


def _events(lines: Iterable[str]) -> tuple[int, int]:
    """How many events, and how many parts of events, lines hold."""
    found = [one.is_part for one in Scanner(parts=True).scan(lines) if one.dialect is not None]
    return found.count(False), len(found)
