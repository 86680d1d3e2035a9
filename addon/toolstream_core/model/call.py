"""A resolved call, and the numbers of its events."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING

from toolstream_core.model.events import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator


class Runs:
    """Event numbers, rising, kept as runs so that a call of a million deltas costs a few bytes."""

    __slots__ = ("_bounds",)

    def __init__(self) -> None:
        self._bounds = array("q")

    def add(self, number: int) -> None:
        """Append `number`; the one added last may be added again."""
        bounds = self._bounds
        if bounds and bounds[-1] == number:
            bounds[-1] = number + 1
        elif not bounds or bounds[-1] <= number:
            bounds.extend((number, number + 1))

    def extend(self, first: int, count: int) -> None:
        """Append so many numbers from `first` on."""
        self.add(first)
        self._bounds[-1] = first + count

    def more_than(self, count: int) -> bool:
        """Whether there are more numbers than `count`."""
        return next(islice(self, count, None), None) is not None

    @property
    def last(self) -> int:
        """The one added last, -1 before any."""
        return self._bounds[-1] - 1 if self._bounds else -1

    def __iter__(self) -> Iterator[int]:
        """Each number once, rising."""
        return chain.from_iterable(self.ranges())

    def ranges(self) -> Iterator[range]:
        """The runs, rising."""
        bounds = self._bounds
        for at in range(0, len(bounds), 2):
            yield range(bounds[at], bounds[at + 1])

    def __len__(self) -> int:
        """How many numbers."""
        return sum(self._bounds[1::2]) - sum(self._bounds[::2])


@dataclass(slots=True)
class Call:
    """One resolved call: what the fragments meant together."""

    choice: int
    position: int
    """Its place among the calls of its choice, in the order in which they appeared."""
    kind: Kind = Kind.FUNCTION
    id: str = ""
    name: str = ""
    arguments: str = ""
    complete: bool = False
    """Whether it is complete: an event ended it, or its arguments are a complete JSON object."""
    guessed: bool = False
    """Whether a boundary rests on a guess; no repair may act on this call then."""
    events: Runs = field(default_factory=Runs)
    truncated: bool = False
    """Whether its arguments were too long to keep: only their begin is here."""
