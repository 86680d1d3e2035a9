"""Under which index an event behind the start of a second message goes on: nothing else of that is repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Json


class EarlierPlaces:
    """Where the client has what the first message started."""

    def __init__(self, moved: Mapping[int | None, Json], apart: int) -> None:
        """`moved`: the places of what has another index there, by that; from `apart` on no client has anything."""
        self._moved = moved
        self._apart = apart
        self._taken = set(moved.values())
        self._started: set[Json] = set()
        """Where something has started in the second message."""

    def place(self, index: int | None, *, starts: bool) -> Json | None:
        """Under which index goes on what came under `index`; `None` where that stays.

        What was started at another place goes there, unless something new is there by now: then it is nobody's, and
        so is what nothing was started for under an index that something moved has.
        """
        if starts:
            self._started.add(index)
        if index in self._started or (index not in self._moved and index not in self._taken):
            return None
        place = self._moved.get(index)
        return self._apart + (index or 0) if place is None or place in self._started else place
