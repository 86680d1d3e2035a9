"""The places (`output_index`) of output items in one Responses answer, and which of them the client knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.identity import MISSING_START
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json

_TEXT = frozenset({"message", "reasoning"})


class Places:
    """Items of any kind, by their output_index."""

    def __init__(self) -> None:
        """None is taken."""
        self.closed: dict[int, Json] = {}
        """The items as they were closed."""
        self.taken: set[int] = set()
        """Places of items that the client knows."""
        self._lent: set[int] = set()
        """Places that no item had, for what came under disputed ones and belongs to none."""
        self.in_pieces = False
        """Whether several items of the provider were joined into one, so that its places leave gaps."""
        self._disputed: dict[int, Row] = {}
        """Places at which the provider and the client have other items, and why that is so."""
        self._instead: dict[object, int] = {}
        self._last = -1
        self._open_text: set[str] = set()
        self._open_others: set[str] = set()

    @property
    def others_open(self) -> bool:
        """Whether another item than a function call is open; text also counts as closed where a call follows it."""
        return bool(self._open_text or self._open_others)

    @property
    def free(self) -> int:
        """The next place."""
        return self._last + 1

    @property
    def output(self) -> list[Json]:
        """The items that were closed, in order."""
        return [self.closed[place] for place in sorted(self.closed)]

    def take(self, place: int) -> None:
        """The client knows an item at a place."""
        self.taken.add(place)
        self._last = max(self._last, place)

    def is_anothers(self, index: object, place: int) -> bool:
        """Whether an `output_index` is that of another item than the one at `place`."""
        return index != place and isinstance(index, int) and index in self.taken

    def reserve(self, place: int) -> None:
        """Reserve a place that an event names, whose item the client does not know."""
        self._last = max(self._last, place)

    def move(self, said: object, place: int, row: Row) -> None:
        """The client knows an item at a `place` where the provider does not have it, but where it `said`."""
        self._disputed[place] = row
        if isinstance(said, int):
            self._disputed[said] = row

    def disputed(self, place: object) -> Row | None:
        """Why what the provider says of a place is of another item to the client; `None` where it is of the same."""
        return self._disputed.get(place) if isinstance(place, int) else None

    def instead_of(self, place: object, row: Row) -> int:
        """A place that no item has, for what comes under a disputed one and belongs to none, and why it does."""
        instead = self._instead.get(place)
        if instead is None or instead in self.taken:
            instead = self._instead[place] = self.free
            self.reserve(instead)
            self._lent.add(instead)
            self._disputed.setdefault(instead, row)
        return instead

    def take_next(self, index: object) -> int:
        """Take the place for an item that the client does not know: `index` where that is free and leaves no gap."""
        fits = isinstance(index, int) and index not in self.taken and not self.out_of_turn(index)
        place = index if fits and isinstance(index, int) else self.free
        if not fits:
            self.move(index, place, MISSING_START)
        self.take(place)
        return place

    def out_of_turn(self, place: int) -> bool:
        """Whether a place leaves a gap because items before it were joined, or is one that was lent."""
        return place in self._lent or (self.in_pieces and place > self.free)

    def other(self, payload: dict[str, Json], *, closed: bool) -> None:
        """An item that is not a function call is added or closed."""
        place = json_access.integer(payload.get("output_index"))
        kind = json_access.scalar(json_access.get(payload, "item", "type"))
        opened = self._open_text if kind in _TEXT else self._open_others
        if closed:
            opened.discard(str(place))
        else:
            opened.add(str(place))
        if isinstance(place, int):
            self.take(place)
            if closed:
                self.closed[place] = payload.get("item")

    def call_added(self) -> None:
        """A function call is added: the text before it is over."""
        self._open_text.clear()
