"""What came of one body, or went, until it is worth a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Batch:
    """Network reads, each of one or more chunks.

    Flat lists of bytes and numbers: Python's collector walks all other containers that live, again and again.
    """

    __slots__ = ("counts", "data", "sizes", "whens")

    def __init__(self) -> None:
        """Nothing came."""
        self.whens: list[float] = []
        """When each read came, in seconds of any clock that only goes on."""
        self.counts: list[int] = []
        """How many chunks each has."""
        self.data: list[bytes] = []
        """What each says."""
        self.sizes: list[int] = []
        """Bytes of the chunks of all of them, in order."""

    def add(self, when: float, data: bytes, sizes: Sequence[int]) -> None:
        """Take a read whose chunks have these sizes."""
        self.whens.append(when)
        self.data.append(data)
        self.counts.append(len(sizes))
        self.sizes += sizes
