"""Draws where a fault acts, at random; the same seed, stream and call give the same draw."""

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
        """Take one; whether there was one left."""
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
    """How many calls or streams were picked."""
    touched: int = 0
    """How many changes were made."""
    _calls: dict[tuple[int, int], bool] = field(default_factory=dict)
    _stream: bool | None = None
    _seen: int = 0

    def __post_init__(self) -> None:
        """Use random numbers of its own."""
        self._random = random.Random(self.seed)

    def call(self, call: OpenCall) -> bool:
        """Whether the fault acts on a call; the same for all its events."""
        key = (call.choice, call.position)
        if key not in self._calls:
            self._calls[key] = self._drawn(call)
        return self._calls[key]

    def stream(self) -> bool:
        """Whether the fault acts on the stream as a whole; always the same."""
        if self._stream is None:
            self._stream = self._roll()
        return self._stream

    def acted(self, times: int = 1) -> None:
        """Count changes that were made."""
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
