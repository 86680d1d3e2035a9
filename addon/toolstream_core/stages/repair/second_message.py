"""The index under which an event after the start of a second message is sent. Nothing else of it is repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Json


class EarlierPlaces:
    """Where the client has what the first message started."""

    def __init__(self, moved: Mapping[int | None, Json], apart: int) -> None:
        """`moved`: by index, the places of moved blocks; from `apart` on the client has none."""
        self._moved = moved
        self._apart = apart
        self._taken = set(moved.values())
        self._started: set[Json] = set()
        """Where something has started in the second message."""

    def place(self, index: int | None, *, starts: bool) -> Json | None:
        """The index under which an event of `index` is sent; `None` if it does not change.

        A block that was started at another place keeps that place, unless a new block is there: then the event is
        foreign. So is an event without a start under the index of a moved block.
        """
        if starts:
            self._started.add(index)
        if index in self._started or (index not in self._moved and index not in self._taken):
            return None
        place = self._moved.get(index)
        return self._apart + (index or 0) if place is None or place in self._started else place
