"""The events that add Responses items: where the client gets them, and which of them do not start a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.json_text import is_object
from toolstream_core.calls.resolver import same_arguments
from toolstream_core.defects.finish import REPEATED_START
from toolstream_core.defects.identity import (
    DOUBLED_CALL,
    ITEM_PER_FRAGMENT,
    LATE_NAME,
    MISSING_INDEX,
    REUSED_INDEX,
)
from toolstream_core.protocols.responses.repair.event_types import ADDED, CLOSED, DELTA, DONE
from toolstream_core.protocols.responses.repair.item_start import Start
from toolstream_core.protocols.responses.repair.kept_events import KeptEvents
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.client_item import ClientItem
    from toolstream_core.protocols.responses.repair.custom_tools import CustomTools
    from toolstream_core.protocols.responses.repair.kept_items import KeptItems
    from toolstream_core.protocols.responses.repair.state import RepairState
    from toolstream_core.wire.frame import Frame


class AddedItems:
    """Judges `response.output_item.added`, and the events of items that only repeat a call or carry a piece of it."""

    def __init__(self, state: RepairState, kept: KeptItems, custom: CustomTools) -> None:
        """For one stream."""
        self._state = state
        self._kept = kept
        self._custom = custom
        self.copies: dict[str, tuple[dict[str, Json], Row]] = {}
        """The events that add items which only repeat a call, or carry a piece of it, by the item's id, and as what."""
        self._loose: set[str] = set()
        """Ids of such items of which the client was told after all."""
        self._call: OpenCall | None = None
        self._before: OpenCall | None = None
        """The call of the last event before the one at hand."""

    def begin(self, call: OpenCall) -> None:
        """An event of a call is at hand."""
        self._before, self._call = self._call, call

    def take(self, frame: Frame, payload: dict[str, Json], item: ClientItem, own: object) -> dict[str, Json] | None:
        """The event as the client is to get it, given the id of its item, `own`; `None` where it gets none yet."""
        if item.start is Start.ADDED:
            return None if self._drops_again(item, own, payload) else self._state.of_nobody(payload)
        if self._custom.keeps_start(item, frame):
            return None
        if not item.call.name and self._state.on(LATE_NAME):
            item.unnamed, item.start = True, Start.NAMELESS
            self._kept.keep(item, frame, LATE_NAME)
            return None
        self._kept.give_back_before(item)
        if item.kept.frames and _has_begin(payload):
            self._kept.give_back(item)
            item.kept = KeptEvents(item.call)
        elif item.kept.frames:
            self._state.replaced.append(item.kept)
        self._state.places.call_added()
        if item.unnamed:
            item.judge_name()
        item.moved = self._place(item, payload)
        changed = item.add(payload)
        return {**changed, "output_index": item.place} if item.moved else changed

    def _place(self, item: ClientItem, payload: dict[str, Json]) -> bool:
        """Give an item its output_index; whether that is another than the event's."""
        state, places = self._state, self._state.places
        place = json_access.integer(payload.get("output_index"))
        moved = False
        item.place = place if isinstance(place, int) else places.free
        if not isinstance(place, int):
            moved = state.report(MISSING_INDEX, "the item is added without output_index", item.call)
        elif place in places.taken:
            moved = state.report(REUSED_INDEX, f"output_index {place} is that of an earlier item", item.call)
            item.place = places.free if moved else place
        elif places.out_of_turn(place):
            moved, item.place = True, places.free
        if moved:
            row = REUSED_INDEX if place in places.taken else ITEM_PER_FRAGMENT
            places.move(place, item.place, row if isinstance(place, int) else MISSING_INDEX)
        places.take(item.place)
        return moved

    def _drops_again(self, item: ClientItem, own: object, payload: dict[str, Json]) -> bool:
        """Judge an event that adds an item for a call that has one; whether it is dropped."""
        state = self._state
        if own == item.id and not (item.closed or item.in_pieces):
            item.arguments.prefill_again(json_access.get(payload, "item", "arguments"))
            return state.report(REPEATED_START, "the item is added again", item.call)
        again = item.whole and not (item.in_pieces or item.call.arguments.empty)
        if not again:
            item.in_pieces, item.closed = True, False
            if self._before is not item.call:
                item.arguments.lose_order()
        state.places.in_pieces = state.places.in_pieces or item.in_pieces
        row = DOUBLED_CALL if again else ITEM_PER_FRAGMENT
        message = "the call was said before" if again else "a fragment of the call comes as an item of its own"
        if isinstance(own, str):
            self.copies[own] = payload, row
        repair = state.report(row, message, item.call)
        return repair and not (item.in_pieces and not item.arguments.joinable)

    def take_of_copy(self, payload: dict[str, Json], kind: str, own: str, item: ClientItem) -> dict[str, Json] | None:
        """Another event of an item that only repeats a call, or carries a piece of it; `own` is its id."""
        state = self._state
        if kind == CLOSED:
            item.arguments.compare_piece(json_access.get(payload, "item", "arguments"))
        if not self._is_joined(kind, own, item):
            return self._apart(payload, own, item)
        if kind in {DONE, CLOSED} and _is_whole_by_itself(payload if kind == DONE else payload.get("item"), item):
            return self._loosened(payload, own, item)
        if kind == CLOSED and item.in_pieces and not item.closed and state.on(ITEM_PER_FRAGMENT) and item.whole:
            item.put_end()
        text = payload.get("arguments")
        if kind == DONE and not (item.done or item.closed) and isinstance(text, str) and is_object(text):
            return item.finish_arguments({**payload, "item_id": item.id, "output_index": item.place})
        if kind in {DONE, CLOSED} or (item.closed and (item.arguments.repair.whole or not payload.get("delta"))):
            return None
        if item.closed:
            return self._loosened(payload, own, item)
        emitted = item.arguments.take(payload.get("delta"))
        if emitted is not None and emitted.stray:
            return self._loosened(payload, own, item)
        if emitted is not None:
            item.arguments.give(emitted.text)
            payload = {**payload, "delta": emitted.text}
        return {**payload, "item_id": item.id, "output_index": item.place}

    def keep_order(self, kind: str, item: ClientItem) -> None:
        """A piece of a call in items may not be the next one where an event of another call is before it."""
        if kind == DELTA and item.in_pieces and self._before is not item.call:
            item.arguments.lose_order()

    def _is_joined(self, kind: str, own: str, item: ClientItem) -> bool:
        """Whether an event of such an item is put to the call: not a piece behind an event of another call."""
        self.keep_order(kind, item)
        repairs = self._state.on(DOUBLED_CALL) or self._state.on(ITEM_PER_FRAGMENT)
        return repairs and own not in self._loose and (item.arguments.joinable or not item.in_pieces)

    def _apart(self, payload: dict[str, Json], own: str, item: ClientItem) -> dict[str, Json]:
        """An event of a piece that is not joined: not under the place of the call to which those before it were."""
        row = self.copies[own][1]
        if payload.get("output_index") != item.place or not self._state.on(row):
            return self._state.of_nobody(payload)
        self._state.because(row)
        return {**payload, "output_index": self._state.places.instead_of(item.place, row)}

    def _loosened(self, payload: dict[str, Json], own: str, item: ClientItem) -> dict[str, Json]:
        """A delta of an item that was taken for a piece of a call, and is none: the client is told of the item."""
        added, row = self.copies[own]
        self._state.because(row)
        if own == item.id and item.is_open and item.whole:
            item.put_end()  # Clients take the event below for the start of another item in its place.
        self._loose.add(own)
        item.arguments.lose_order()
        self._state.output.put({**self._state.of_nobody(added), "type": ADDED})
        return self._state.of_nobody(payload)


def _has_begin(payload: dict[str, Json]) -> bool:
    """Whether an item is added with the begin of its arguments: put behind it, what came before would go on with it."""
    text = json_access.get(payload, "item", "arguments")
    return isinstance(text, str) and bool(text.strip()) and not is_object(text)


def _is_whole_by_itself(said: Json, item: ClientItem) -> bool:
    """Whether an item that was taken for one said before says all of its call, and not what the client has of that."""
    text, given = json_access.get(said, "arguments"), item.arguments.given
    if not isinstance(text, str) or text.startswith(given):
        return False
    return is_object(text) and item.call.arguments.whole and same_arguments(text, item.arguments.meant)
