"""The places of output items in one Responses answer: which the client knows, and what stands there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Json

_TEXT = frozenset({"message", "reasoning"})


class Places:
    """Items of any kind, by their place."""

    def __init__(self) -> None:
        """None is known."""
        self.closed: dict[int, Json] = {}
        """The items as they were closed."""
        self.taken: set[int] = set()
        """Places that the client knows; added by `take`."""
        self.in_pieces = False
        """Whether many items of the provider were made one, so that its places leave gaps."""
        self._last = -1
        self._open_text: set[str] = set()
        self._open_others: set[str] = set()

    @property
    def others_open(self) -> bool:
        """Whether an item that is no function call was begun, and neither it nor a call behind it says it is over."""
        return bool(self._open_text or self._open_others)

    @property
    def free(self) -> int:
        """The place that comes next."""
        return self._last + 1

    @property
    def output(self) -> list[Json]:
        """The items that were closed, in order."""
        return [self.closed[place] for place in sorted(self.closed)]

    def take(self, place: int) -> None:
        """The client knows an item at a place."""
        self.taken.add(place)
        self._last = max(self._last, place)

    def name(self, place: int) -> None:
        """An event names a place whose item nobody has heard of: no other item is put there."""
        self._last = max(self._last, place)

    def next(self, index: object) -> int:
        """The place of an item that nobody has heard of: `index` where that is free and in turn."""
        if isinstance(index, int) and index not in self.taken and not self.out_of_turn(index):
            return index
        return self.free

    def out_of_turn(self, place: int) -> bool:
        """Whether an item leaves a gap because many before it were made one."""
        return place > self.free and self.in_pieces

    def other(self, payload: dict[str, Json], *, closed: bool) -> None:
        """An item that is no function call is added or closed."""
        place = json_access.integer(payload.get("output_index"))
        opened = (
            self._open_text
            if json_access.scalar(json_access.get(payload, "item", "type")) in _TEXT
            else self._open_others
        )
        if closed:
            opened.discard(str(place))
        else:
            opened.add(str(place))
        if isinstance(place, int):
            self.take(place)
            if closed:
                self.closed[place] = payload.get("item")

    def call_added(self) -> None:
        """A function call is added: text before it is over."""
        self._open_text.clear()
