"""Responses items whose events are kept, because the client cannot be given them yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.responses.repair.item_start import Start

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.defects.row import Row
    from toolstream_core.protocols.responses.repair.client_item import ClientItem
    from toolstream_core.protocols.responses.repair.state import RepairState
    from toolstream_core.wire.frame import Frame

MAX_KEPT = 8 * 1024 * 1024
"""Bytes of kept events of one item above which they are sent as they came."""


class KeptItems:
    """Keeps events of items, and gives them back unchanged where nothing can be made of them."""

    def __init__(self, state: RepairState) -> None:
        """None is kept."""
        self._state = state
        self._at: dict[int | None, ClientItem] = {}
        """The item whose events are kept, by output_index; `None` for one without."""
        self.last: Frame | None = None
        """The event that was kept last."""

    def keep(self, item: ClientItem, frame: Frame, row: Row) -> None:
        """Keep an event of an item; `row` is the defect that it is kept for."""
        self.last = frame
        place = item.call.index
        if isinstance(place, int):
            self._state.places.reserve(place)
        self._at[place if isinstance(place, int) else None] = item
        item.kept.add(frame, row, self._state.output.progress)
        if item.kept.size > MAX_KEPT:
            self.give_back(item)

    def give_back(self, item: ClientItem) -> None:
        """Send an item's kept events as they came."""
        item.start = Start.PASSED
        item.judge_name()
        output = self._state.output
        if len(self._state.ids.calls) > 1:
            output.renumber()
        for frame in item.kept:
            payload = frame.json
            if isinstance(payload, dict):
                output.send(frame, self._state.of_nobody(payload, item.kept.told))
        self._state.replaced.append(item.kept)

    def give_all_back(self, items: Iterable[ClientItem]) -> None:
        """Send all that is kept of these items: nothing that follows is of them."""
        for item in items:
            if item.waiting and item.kept.frames:
                self.give_back(item)

    def give_back_before(self, item: ClientItem) -> None:
        """Send what is kept at the place of an item that is added now, or without a place: else it would be its own."""
        if self._at:
            self._give_back_at(None, item)
            self.give_back_at_place_of(item)

    def give_back_at_place_of(self, item: ClientItem) -> None:
        """Send what is kept at the place of an item of which the arguments are said whole: else it would undo them."""
        if isinstance(item.call.index, int):
            self._give_back_at(item.call.index, item)

    def _give_back_at(self, place: int | None, item: ClientItem) -> None:
        other = self._at.pop(place, item)
        if other is not item and other.kept.frames and not other.added:
            self.give_back(other)
