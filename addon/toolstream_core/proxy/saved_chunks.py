"""The chunks of a saved answer, each at its time. Has no clock of its own."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.fixtures import Chunk


class SavedChunks:
    """What is still to come of an answer that was saved."""

    def __init__(self, chunks: Iterable[Chunk], speed: float) -> None:
        """The chunks come `speed` times as fast as they were recorded, at once where it is 0."""
        self._chunks = deque(chunks)
        self._speed = speed
        self._begun: float | None = None

    def __bool__(self) -> bool:
        """Whether chunks are left."""
        return bool(self._chunks)

    @property
    def begun(self) -> bool:
        """Whether the time of the answer runs."""
        return self._begun is not None

    def begin(self, now: float) -> None:
        """The time of the answer runs from `now`, in seconds; only the first call counts."""
        if self._begun is None:
            self._begun = now

    @property
    def due(self) -> float:
        """When the next chunk is due, on the clock of `begin`."""
        assert self._begun is not None
        return self._begun + (self._chunks[0].after / 1000 / self._speed if self._speed else 0.0)

    def extend(self, chunks: Iterable[Chunk]) -> None:
        """Further chunks have come."""
        self._chunks.extend(chunks)

    def pop(self) -> bytes:
        """The next chunk's bytes."""
        return self._chunks.popleft().data

    def clear(self) -> None:
        """Nothing more is wanted."""
        self._chunks.clear()
