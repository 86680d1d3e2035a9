"""Output items of a Responses stream: each added, filled and closed under one identity."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from toolstream_core.defects.ending import REPEATED_START, REPEATED_STOP
from toolstream_core.defects.identity import (
    CUSTOM_AS_FUNCTION,
    DOUBLED_CALL,
    ITEM_PER_FRAGMENT,
    LATE_NAME,
    MISSING_INDEX,
    MISSING_START,
    REUSED_INDEX,
)
from toolstream_core.defects.menders.responses_custom import CustomTools
from toolstream_core.defects.menders.responses_ending import Endings
from toolstream_core.defects.menders.responses_events import ADDED, CLOSED, DELTA, DONE
from toolstream_core.defects.menders.responses_item import Item
from toolstream_core.defects.menders.responses_kept import Closing, Delta
from toolstream_core.defects.menders.responses_out import EventsMender
from toolstream_core.defects.menders.responses_places import Places
from toolstream_core.defects.menders.responses_repeats import Repeats
from toolstream_core.defects.wording import REPLAYED_ARGUMENTS
from toolstream_core.dialects import request
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.menders.responses_identity import Identity
    from toolstream_core.defects.row import Row
    from toolstream_core.defects.stage import Context
    from toolstream_core.model import Json
    from toolstream_core.wire.frame import Frame

MAX_KEPT = 8 * 1024 * 1024
"""Bytes of the events of one item above which they go on, although nobody can be told whose they are."""


class ItemsMender(EventsMender):
    """Judges and mends output items; how the response begins, ends and waits is decided in the class made on it."""

    def __init__(self, context: Context) -> None:
        """As `Mender`."""
        super().__init__(context)
        self.items: list[Item] = []
        self.places = Places()
        self._by_id: dict[str, list[Item]] = {}
        self.told_ids: dict[str, Identity] = {}
        """The first item of each call_id that the client knows."""
        self.told_items: dict[str, Identity] = {}
        """The first item of each id that the client knows."""
        self.shared_ids: set[str] = set()
        """Ids of more than one item."""
        self._kept_at: dict[int | None, Item] = {}
        """The item of which events are kept, by its place, be it unknown."""
        self.created: dict[str, Json] = {}
        """The response as `response.created` had it."""
        self._by_call: dict[int, Item] = {}
        self._copies: set[str] = set()
        """Ids of items that only say a call again, or a piece of it."""
        self._ending = Endings(self)
        self.repeats = Repeats(self)
        self.custom = CustomTools(self)
        self.as_it_comes = False
        """Whether nothing is judged any more: another response began, or the begin of this one went to an earlier
        connection."""
        self._held: Closing | None = None
        """An event that closes a call before its arguments are whole: waits for the next event."""
        self._delta: Delta | None = None
        self._spoken: list[Item] = []
        """Items whose kept events are replaced by what goes on for the event that is dealt with."""
        self._anonymous: list[Item] = []
        """Items that were begun by a piece of arguments which does not say whose it is."""

    @property
    def astray(self) -> bool:
        """Whether arguments came that belong to no known call: they may be a part of one that comes in pieces."""
        self._anonymous = [one for one in self._anonymous if not (one.call.id or one.call.name)]
        return any(not one.call.arguments.empty for one in self._anonymous)

    @cached_property
    def earlier_ids(self) -> frozenset[str]:
        """Ids of the calls of earlier turns, from the request."""
        return request.earlier_ids(self.context.exchange.request)

    def knows(self, call: OpenCall) -> bool:
        """Whether there is a state of the call."""
        return id(call) in self._by_call

    def item_of(self, call: OpenCall) -> Item:
        """The state of a call."""
        item = self._by_call.get(id(call))
        if item is None:
            item = self._by_call[id(call)] = Item(self, call)
            self.items.append(item)
            if not (call.id or call.name):
                self._anonymous.append(item)
        if not item.keyed and call.id:
            item.keyed = True
            self._by_id.setdefault(call.id, []).append(item)
        return item

    def of_id(self, call_id: str) -> Sequence[Item]:
        """The states of the calls with an id, in order."""
        return self._by_id.get(call_id, ())

    def _added(self, frame: Frame, payload: dict[str, Json], call: OpenCall, own: object) -> dict[str, Json] | None:
        item = self.item_of(call)
        if item.added:
            return None if self._added_again(item, own, payload) else payload
        if call.name in self.custom and not item.kept and self.custom.wraps(item):
            self.keep(item, frame, CUSTOM_AS_FUNCTION)
            return None
        if not call.name and self.on(LATE_NAME):
            item.unnamed = True
            self.keep(item, frame, LATE_NAME)
            return None
        self._let_others_go(item)
        self._spoken.append(item)
        self.places.call_added()
        item.named()
        place = look.integer(payload.get("output_index"))
        item.known = True
        item.place = place if isinstance(place, int) else self.places.free
        mend = False
        if not isinstance(place, int):
            mend = self.tell(MISSING_INDEX, self.number, "the item is added without output_index", call)
        elif place in self.places.taken:
            mend = self.tell(REUSED_INDEX, self.number, f"output_index {place} is that of an earlier item", call)
            item.place = self.places.free if mend else place
        elif self.places.out_of_turn(place):
            mend, item.place = True, self.places.free
        self.places.take(item.place)
        changed = item.opened(payload)
        item.moved = mend
        changed = {**changed, "output_index": item.place} if mend else changed
        if item.kept:
            self._go(frame, changed)
            self._go_kept(item)
            return None
        return changed

    def _let_others_go(self, item: Item) -> None:
        """Events of others that are kept, at the item's place or none, go on before it: else they would be its own."""
        place = item.call.index
        for key in {None, place if isinstance(place, int) else None}:
            other = self._kept_at.pop(key, item)
            if other is not item and other.kept and not other.added:
                self.give_back(other)

    def _added_again(self, item: Item, own: object, payload: dict[str, Json]) -> bool:
        """Judge an item of a call that has one; whether it is to go."""
        if own == item.id and not (item.closed or item.in_pieces):
            item.said.begun_again(look.get(payload, "item", "arguments"))
            return self.tell(REPEATED_START, self.number, "the item is added again", item.call)
        again = item.whole and not (item.in_pieces or item.call.arguments.empty)
        if not again:
            item.in_pieces, item.closed = True, False
        self.places.in_pieces = self.places.in_pieces or item.in_pieces
        row = DOUBLED_CALL if again else ITEM_PER_FRAGMENT
        message = "the call was said before" if again else "a fragment of the call comes as an item of its own"
        if isinstance(own, str):
            self._copies.add(own)
        mend = self.tell(row, self.number, message, item.call)
        return mend and not (item.in_pieces and self.astray)

    def _go_kept(self, item: Item) -> None:
        """Arguments that came before their item."""
        self._counting = self._sequence is not None
        for frame in item.kept:
            payload, kind = frame.json, self._kind(frame)
            if kind == DONE:
                item.said.settle()
                self._let_delta_go()
            if isinstance(payload, dict) and kind in {DELTA, DONE}:
                changed = self._of_item(frame, payload, kind, item)
                if changed is not None:
                    self._go(frame, changed)

    def _of_copy(self, payload: dict[str, Json], kind: str, call: OpenCall) -> dict[str, Json] | None:
        """An event of an item that only says a call again, or a piece of it."""
        item = self.item_of(call)
        if not (self.on(DOUBLED_CALL) or self.on(ITEM_PER_FRAGMENT)) or (item.in_pieces and self.astray):
            return payload
        if kind == CLOSED and item.in_pieces and not item.closed and self.on(ITEM_PER_FRAGMENT) and item.whole:
            item.finish()
        if item.closed or kind in {DONE, CLOSED}:
            return None
        told = item.said.take(payload.get("delta"))
        if told is not None:
            item.said.tell(told.text)
            payload = {**payload, "delta": told.text}
        return {**payload, "item_id": item.id, "output_index": item.place}

    def _of_item(self, frame: Frame, payload: dict[str, Json], kind: str, item: Item) -> dict[str, Json] | None:
        if not item.added and not item.known:
            return self._of_unknown(frame, payload, kind, item)
        changed = item.placed(payload, kind)
        if kind == DELTA and item.said.completed and (item.done or item.closed):
            message = "a delta follows the event that says the arguments whole"
            return None if self.tell(REPLAYED_ARGUMENTS, self.number, message, item.call) else payload
        if kind == DELTA:
            if isinstance(said := changed.get("delta"), str) and said:
                item.say_head(said)
            told = item.said.take(changed.get("delta"), may_wait=True)
            self._let_delta_go()
            self._delta = Delta(frame, changed, item, told)
            if not item.said.waiting:
                self._let_delta_go()
            return None
        if kind == DONE:
            return item.said_whole(changed)
        if item.closed and item.says(changed):
            return None if self.tell(REPEATED_STOP, self.number, "the item is closed again", item.call) else payload
        self._held = None
        closing = item.closing(changed)
        if not (item.is_piece(closing) and self.on(ITEM_PER_FRAGMENT)):
            return closing
        self._held = Closing(frame, self._counted(closing), item)
        return None

    def _of_unknown(self, frame: Frame, payload: dict[str, Json], kind: str, item: Item) -> dict[str, Json] | None:
        """An event of an item that was not added, or not by its name."""
        if item.wrapped:
            return self.custom.take(frame, payload, kind, item)
        if item.unnamed and item.call.name:
            first = next(frame for frame in item.kept if self._kind(frame) == ADDED)
            opening: Json = first.json
            self._added(first, opening, item.call, None)
            return self._of_item(frame, payload, kind, item)
        if not (item.unnamed or item.dropped) and not self.tell(
            MISSING_START, self.number, "the item was not added before", item.call
        ):
            item.known = True
            return payload
        if kind == CLOSED and self.repeats.drops_closed(item):
            self._spoken.append(item)
            return None
        if kind == CLOSED and item.call.name:
            return self._say_closed(frame, payload, item)
        self.keep(item, frame, LATE_NAME if item.unnamed else MISSING_START)
        return None

    def say(self, item: Item, content: Json) -> None:
        """Say a whole call of which nobody has heard, given its item."""
        wrapped = item.call.name in self.custom and self.custom.wraps(item)
        if not (wrapped and isinstance(content, dict) and self.custom.say(item, content)):
            item.say(content)

    def _say_closed(self, frame: Frame, payload: dict[str, Json], item: Item) -> dict[str, Json] | None:
        """Say a call whose closing event is the first that names it. Half a call may go on in another item."""
        content = payload.get("item")
        if item.call.name in self.custom or (item.whole and not item.call.arguments.empty):
            self.say(item, content)
            return None
        closing = {**payload, "item": item.say_half(content), "output_index": item.place}
        if not self.on(ITEM_PER_FRAGMENT):
            return closing
        self._held = Closing(frame, self._counted(closing), item)
        return None

    def keep(self, item: Item, frame: Frame, row: Row) -> None:
        """Keep an event of an item of which nobody can be told yet; `row` is why."""
        self._keeps = frame
        place = item.call.index
        if isinstance(place, int):
            self.places.name(place)
        self._kept_at[place if isinstance(place, int) else None] = item
        item.kept.add(frame, row, self._gone, self._met)
        if item.kept.size > MAX_KEPT:
            self.give_back(item)

    def give_back(self, item: Item) -> None:
        """Let an item's events go on as they came: nobody knows better."""
        item.known = True
        item.named()
        self._counting = self._counting or (self._sequence is not None and len(self.items) > 1)
        for frame in item.kept:
            payload = frame.json
            if isinstance(payload, dict):
                self._go(frame, payload)
        self._spoken.append(item)

    def spoken(self, item: Item) -> None:
        """An item is told from the start, in the place of its events."""
        self._spoken.append(item)

    def _let_delta_go(self) -> None:
        if self._delta is None:
            return
        (frame, payload, item, told), self._delta = self._delta, None
        if told is not None:
            item.said.tell(told.text)
            payload = payload if told.text == payload["delta"] else {**payload, "delta": told.text}
        self._go(frame, payload)
