"""Draws where a fault acts: the same draw for the same seed, stream and call."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.faults.spec import Fault


@dataclass
class Budget:
    """How often a fault with `times` may still be drawn; shared by all streams."""

    left: int | None

    def spend(self) -> bool:
        """Whether there was one left to take."""
        if self.left == 0:
            return False
        if self.left is not None:
            self.left -= 1
        return True


@dataclass
class Picker:
    """One fault in one stream."""

    fault: Fault
    seed: str
    """Of this stream and this fault."""
    budget: Budget
    rolled: int = 0
    """How many calls or streams were drawn to be hit."""
    touched: int = 0
    """How many changes were made."""
    _calls: dict[tuple[int, int], bool] = field(default_factory=dict)
    _stream: bool | None = None
    _seen: int = 0

    def __post_init__(self) -> None:
        """Draw from a sequence of its own."""
        self._random = random.Random(self.seed)

    def call(self, call: OpenCall) -> bool:
        """As `Pick.call`."""
        key = (call.choice, call.position)
        if key not in self._calls:
            self._calls[key] = self._drawn(call)
        return self._calls[key]

    def stream(self) -> bool:
        """As `Pick.stream`."""
        if self._stream is None:
            self._stream = self._roll()
        return self._stream

    def acted(self, times: int = 1) -> None:
        """As `Pick.acted`."""
        self.touched += times

    def _drawn(self, call: OpenCall) -> bool:
        if not self.fault.hits(call.name):
            return False
        self._seen += 1
        return self.fault.nth in {None, self._seen} and self._roll()

    def _roll(self) -> bool:
        if self._random.random() >= self.fault.p or not self.budget.spend():
            return False
        self.rolled += 1
        return True
