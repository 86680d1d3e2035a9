"""Events of Responses items on their way to the client: each item added, filled and closed under one identity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.json_text import is_json, is_object
from toolstream_core.calls.resolver import same_arguments
from toolstream_core.defects.arguments import REPLAYED_ARGUMENTS
from toolstream_core.defects.finish import REPEATED_STOP
from toolstream_core.defects.identity import (
    ITEM_PER_FRAGMENT,
    LATE_NAME,
    MISSING_START,
)
from toolstream_core.model import Kind, Phase
from toolstream_core.protocols.responses.repair.added_items import AddedItems
from toolstream_core.protocols.responses.repair.event_types import ADDED, CLOSED, DELTA, DONE, event_type
from toolstream_core.protocols.responses.repair.held_events import HeldEvents
from toolstream_core.protocols.responses.repair.item_start import WAITING, Start
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.client_item import ClientItem
    from toolstream_core.protocols.responses.repair.client_items import ClientItems
    from toolstream_core.protocols.responses.repair.custom_tools import CustomTools
    from toolstream_core.protocols.responses.repair.kept_items import KeptItems
    from toolstream_core.protocols.responses.repair.repeats import Repeats
    from toolstream_core.protocols.responses.repair.state import RepairState
    from toolstream_core.wire.frame import Frame


class ItemEvents:
    """Judges and repairs the events of output items."""

    def __init__(
        self, state: RepairState, items: ClientItems, kept: KeptItems, custom: CustomTools, repeats: Repeats
    ) -> None:
        """For one stream."""
        self._state = state
        self._items = items
        self._kept = kept
        self._custom = custom
        self._repeats = repeats
        self.added = AddedItems(state, kept, custom)
        self.held = HeldEvents(state)

    def settle(self, resolved: Sequence[ResolvedFragment], kind: str = "") -> None:
        """Send what is held, unless the event at hand has a say in it; `resolved` is empty at the body's end."""
        call = resolved[0].call if resolved else None
        self.held.settle_delta(call if kind == DELTA else None)
        adds = bool(resolved) and resolved[0].fragment.phase is Phase.OPEN
        self.held.settle_closing(call, adds=adds, closes=kind == CLOSED)

    def take(
        self, frame: Frame, payload: dict[str, Json], kind: str, resolved: Sequence[ResolvedFragment]
    ) -> dict[str, Json] | None:
        """The event as the client is to get it; `None` where it gets none, or has been sent something in its place."""
        if not resolved or resolved[0].call.kind is not Kind.FUNCTION:
            if kind in {ADDED, CLOSED}:
                self._state.places.other(payload, closed=kind == CLOSED)
            return payload
        fragment, call = resolved[0]
        self.added.begin(call)
        may_repeat = fragment.phase is Phase.OPEN or id(call) in self._state.repeated
        if may_repeat and self._repeats.drops(fragment, call):
            return None
        in_item = kind in {ADDED, CLOSED}
        own: Json = json_access.get(payload, "item", "id") if in_item else payload.get("item_id")
        if type(own) is not str:
            own = json_access.text(own)
        if fragment.phase is Phase.OPEN:
            return self._add(frame, payload, self._items.of(call), own)
        known = self._items.find(call) if own in self.added.copies else None
        if known is not None and not (kind in {DONE, CLOSED} and self._items.outdated(known)):
            self.held.leave_apart()
            return self.added.take_of_copy(payload, kind, str(own), known)
        item = self._items.of(call)
        if item.in_pieces:
            self.added.keep_order(kind, item)
        return self._of_item(frame, payload, kind, item)

    def _add(self, frame: Frame, payload: dict[str, Json], item: ClientItem, own: object) -> dict[str, Json] | None:
        """The event that adds an item; arguments that came before it are sent behind it."""
        changed = self.added.take(frame, payload, item, own)
        if changed is None or not item.kept.frames:
            return changed
        self._state.output.send(frame, changed)
        self._send_kept(item)
        return None

    def _send_kept(self, item: ClientItem) -> None:
        self._state.output.renumber()
        for frame in item.kept:
            payload, kind = frame.json, event_type(frame)
            if kind == DONE:
                self.held.settle_delta(None)
            if isinstance(payload, dict) and kind in {DELTA, DONE}:
                if kind == DONE and _contradicts(payload, kind, item):
                    item.contradicted = True
                    self._state.output.send(frame, self._state.of_nobody(payload, item.kept.told))
                    continue
                if payload.get("output_index", item.place) != item.place:
                    self._state.because(item.kept.told)
                    payload = {**payload, "output_index": item.place}
                changed = self._of_item(frame, payload, kind, item)
                if changed is not None:
                    self._state.output.send(frame, changed)

    def _of_item(self, frame: Frame, payload: dict[str, Json], kind: str, item: ClientItem) -> dict[str, Json] | None:
        """An event behind the one that adds its item."""
        if item.start is Start.PASSED or item.start in WAITING:
            return self._of_waiting(frame, payload, kind, item)
        if kind in {DONE, CLOSED} and self._kept.last is not None:
            self._kept.give_back_at_place_of(item)
        if kind in {DONE, CLOSED} and _contradicts(payload, kind, item):
            item.contradicted = True
            return self._state.of_nobody(payload)
        changed = item.locate(payload, kind)
        if kind == DELTA and item.arguments.completed and item.call.over and (item.done or item.closed):
            message = "a delta follows the event that says the arguments whole"
            return None if self._state.report(REPLAYED_ARGUMENTS, message, item.call) else payload
        if kind == DELTA:
            if item.arguments.prefilled and isinstance(delta := changed.get("delta"), str) and delta:
                item.send_prefill(delta)
            index = payload.get("output_index")
            elsewhere = index != item.call.index and item.is_elsewhere(index)
            self.held.hold_delta(frame, changed, item, elsewhere=elsewhere)
            return None
        if kind == DONE:
            return item.finish_arguments(changed)
        if item.closed and not item.contradicted and item.closed_with(changed):
            return None if self._state.report(REPEATED_STOP, "the item is closed again", item.call) else payload
        if self.held.closing is not None:
            self.held.drop_closing()
        closing = item.close(changed)
        return self._closed(frame, closing, item) if _is_piece(closing, item) else closing

    def _of_waiting(
        self, frame: Frame, payload: dict[str, Json], kind: str, item: ClientItem
    ) -> dict[str, Json] | None:
        """An event of an item that the client does not know, because it was not added, or not by its name."""
        if item.start is Start.PASSED:
            return self._state.of_nobody(payload)
        if item.start is Start.CUSTOM:
            return self._custom.take(frame, payload, kind, item)
        if item.start is Start.NAMELESS and item.call.name:
            first = next(frame for frame in item.kept if event_type(frame) == ADDED)
            opening: Json = first.json
            self._add(first, opening, item, None)
            return self._of_item(frame, payload, kind, item)
        if item.start is Start.NEW and not self._state.report(
            MISSING_START, "the item was not added before", item.call
        ):
            item.start = Start.PASSED
            return payload
        if kind == CLOSED and self._repeats.drops_closed(item):
            self._state.replaced.append(item.kept)
            return None
        if kind == CLOSED and item.call.name:
            return self._put_closed(frame, payload, item)
        self._kept.keep(item, frame, LATE_NAME if item.start is Start.NAMELESS else MISSING_START)
        return None

    def _put_closed(self, frame: Frame, payload: dict[str, Json], item: ClientItem) -> dict[str, Json] | None:
        """Put a call whose closing event is the first with its name; a part of a call may go on in another item."""
        content = payload.get("item")
        if item.call.name in self._custom or (item.whole and not item.call.arguments.empty):
            self._custom.put_call(item, content)
            return None
        closing = {**payload, "item": item.put_part(content), "output_index": item.place}
        return self._closed(frame, closing, item)

    def _closed(self, frame: Frame, closing: dict[str, Json], item: ClientItem) -> dict[str, Json] | None:
        """An event that closes an item with a part of its arguments; held where pieces of calls are joined."""
        if not self._state.on(ITEM_PER_FRAGMENT):
            return closing
        self.held.hold_closing(frame, closing, item)
        return None


def _contradicts(payload: dict[str, Json], kind: str, item: ClientItem) -> bool:
    """Whether an event says other whole arguments than a call that such an event, or one that closes it, had before."""
    said = payload if kind == DONE else payload.get("item")
    text, before = json_access.get(said, "arguments"), item.said
    if not (item.closed or (item.done and kind == DONE)) or not (isinstance(text, str) and is_object(text)):
        return False
    return is_object(before) and not same_arguments(text, before)


def _is_piece(closing: dict[str, Json], item: ClientItem) -> bool:
    """Whether an event that closes an item has a part of its arguments, so that the rest may come in another item."""
    text = json_access.get(closing, "item", "arguments")
    part = isinstance(text, str) and text != "" and not is_json(text)
    return part or not item.whole or item.call.arguments.empty
