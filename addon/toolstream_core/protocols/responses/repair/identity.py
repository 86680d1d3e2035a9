"""Ids and name of one Responses item, as the client is given them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolstream_core.calls import nonblank
from toolstream_core.defects.identity import (
    CHANGING_CALL_ID,
    DECORATED_NAME,
    DUPLICATE_ID,
    EMPTY_NAME,
    LATE_NAME,
    MISSING_ID,
    MISSING_INDEX,
    MISSING_NAME,
    ODD_ID,
    REUSED_ID,
    REUSED_INDEX,
    ROTATING_ITEM_ID,
)
from toolstream_core.defects.row import WARNING
from toolstream_core.protocols.responses.repair.event_types import CLOSED, DELTA, DONE
from toolstream_core.stages.repair.names import plain_name
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.state import RepairState

_NO_INDEX = "an event of the item has no output_index"
_USUAL_ID = re.compile(r"[\w.:|-]{1,64}", re.ASCII)


class Identity:
    """Who a function call is, from the event that adds it on."""

    def __init__(self, state: RepairState, call: OpenCall) -> None:
        """A call of which the client knows nothing."""
        self._state = state
        self.call = call
        self.id = ""
        self.call_id = ""
        self.name = ""
        self.place = 0
        """Its output_index for the client."""
        self.unnamed = False
        """Whether the provider added it without a name."""
        self.moved = False
        """Whether its events carry another output_index than its place."""
        self.closed = False
        """Whether an event closed it; taken back where more of it comes in another item."""
        self.lacks = False
        """Whether a delta that may be its own was not put into it."""
        self._adopts = False
        """Whether deltas that say neither an index nor an item are its own: one such came before all others."""

    def judge(self, row: Row, message: str) -> bool:
        """Report a defect of this call at the event at hand; whether it is to be repaired."""
        return self._state.report(row, message, self.call)

    def is_elsewhere(self, index: Json) -> bool:
        """Whether an event has no output_index that is a number, and the call has one; `None` where it has none."""
        return isinstance(self.call.index, int) and (index is None or json_access.integer(index) is None)

    def locate(self, payload: dict[str, Json], kind: str) -> dict[str, Json]:
        """An event with the client's output_index and item id; unchanged where it is only guessed to be this item's."""
        changed, lacks_index = payload, "output_index" not in payload
        if lacks_index and not payload.get("item_id"):
            # Behind the event that adds it, and another one of its arguments.
            behind_own = kind == DELTA and self.call.runs.more_than(2)
            self._adopts = self._adopts or not behind_own
            if not self._adopts:
                self.lacks = True
                self.judge(MISSING_INDEX, _NO_INDEX)
            if self.call.guessed or not self._adopts:
                return payload
        if lacks_index:
            if kind == DONE and self.closed and "arguments" not in payload:  # it says nothing
                return payload
            if self.judge(MISSING_INDEX, _NO_INDEX):
                changed = {**changed, "output_index": self.place}
        elif self.moved or (kind == CLOSED and self._is_at_anothers(payload["output_index"])):
            changed = {**changed, "output_index": self.place}
        if kind in {DELTA, DONE}:
            own = payload.get("item_id")
            mine = own == self.id or not self._state.ids.is_own_item_id(self.id)
            if not mine and self.judge(ROTATING_ITEM_ID, "the event has another item id"):
                changed = {**changed, "item_id": self.id}
            return self.keep_identity_beside(changed) if self._state.form.names_calls else changed
        return changed

    def _is_at_anothers(self, index: Json) -> bool:
        """Whether the event that closes the item is under another one's index, and goes to its own."""
        if not self._state.places.is_anothers(index, self.place):
            return False
        return self.judge(REUSED_INDEX, f"the item is closed under output_index {index}, that of another item")

    def identify(self, content: dict[str, Json]) -> None:
        """Decide on the ids and the name that the client gets, given the item that is added; changes that item."""
        self._give_item_id(content)
        self._give_call_id(content)
        call = self.call
        if call.id in self._state.ids.earlier:
            self.judge(REUSED_ID, f"call_id {call.id} was that of a call of an earlier turn")
        if call.id and not _USUAL_ID.fullmatch(call.id):
            self.judge(ODD_ID, f"the call_id has {len(call.id)} characters, or some that other APIs refuse")
        if not call.name:
            self.unnamed = True
            return
        plain = plain_name(call.name, self._state.context.schemas)
        if plain != call.name and self.judge(DECORATED_NAME, f"the name is {call.name!r}, the tool is {plain}"):
            self.name = content["name"] = plain

    def _give_item_id(self, content: dict[str, Json]) -> None:
        state, own = self._state, content.get("id")
        self.id = own if isinstance(own, str) and own else self.call.item_id or state.context.ids.make("fc_")
        state.ids.give_item_id(self.id, self.call)
        if own in (None, "") and self.judge(ROTATING_ITEM_ID, "the item is added without an id"):
            content["id"] = self.id

    def _give_call_id(self, content: dict[str, Json]) -> None:
        state, call = self._state, self.call
        self.call_id, self.name = call.id, call.name
        if not nonblank(call.id):
            repair = self.judge(MISSING_ID, "the item has no call_id")
        else:
            repair = (
                state.ids.is_of_other(call.id, call)
                and id(call) not in state.repeated
                and self.judge(DUPLICATE_ID, f"call_id {call.id} is that of another call")
            )
        if repair:
            self.call_id = state.context.ids.make("call_")
            content["call_id"] = self.call_id
        elif call.id and not content.get("call_id") and self.judge(MISSING_ID, "the item is added without its call_id"):
            content["call_id"] = call.id
        state.ids.give_call_id(self.call_id, call)

    def judge_name(self) -> None:
        """Report, once, that the item was added without a name."""
        if self.unnamed and self.call.name:
            self.judge(LATE_NAME, "the name comes with a later event than the one that adds the item")
        elif self.unnamed:
            self.judge(MISSING_NAME, "the call has no name")
        self.unnamed = False

    def keep_identity(self, content: dict[str, Json]) -> None:
        """Give a later item of the same call the ids and the name that the client has; changes that item."""
        if self.id and content.get("id") != self.id and self.judge(ROTATING_ITEM_ID, "the item has another id"):
            content["id"] = self.id
        if self.call_id and content.get("call_id") != self.call_id and self._keeps_call_id(content.get("call_id")):
            content["call_id"] = self.call_id
            self._map_late_id(self.call.id)
        if self.name:
            self._keep_name(content)

    def of_arguments(self, *keys: str) -> dict[str, Json]:
        """Whose arguments an event has: the item, and where the API says so the call's id, and what `keys` name."""
        place: dict[str, Json] = {"item_id": self.id, "output_index": self.place}
        if not self._state.form.names_calls:
            return place
        known: dict[str, Json] = {"call_id": self.call_id, "name": self.name}
        return place | {key: known[key] for key in ("call_id", *keys) if known[key]}

    def keep_identity_beside(self, payload: dict[str, Json]) -> dict[str, Json]:
        """An event of arguments that says the call's id and perhaps its name, with those that the client has."""
        said: dict[str, Json] = {key: payload[key] for key in ("call_id", "name") if key in payload}
        kept = dict(said)
        lacks = "call_id" not in said and not nonblank(self.call.id)
        if self.call_id and (lacks or said.get("call_id", self.call_id) != self.call_id):
            kept |= {"call_id": self.call_id} if self._keeps_call_id(said.get("call_id")) else {}
        if self.name and "name" in said:
            self._keep_name(kept)
        return payload if kept == said else {**payload, **kept}

    def _map_late_id(self, call_id: str) -> None:
        """Map a made-up id back to the provider's, which came later, unless another call has that one."""
        made = self._state.context.ids
        if made.made(self.call_id) and not self._state.ids.other_has(call_id, self.call):
            made.stands_for(self.call_id, call_id, self.name)

    def _keeps_call_id(self, other: Json) -> bool:
        """Whether the client's call_id replaces `other`. A provider that never gave one has not changed it."""
        if other == self.call.id:
            return True
        if not nonblank(self.call.id) and not nonblank(other if isinstance(other, str) else None):
            return self.judge(MISSING_ID, "the item has no call_id")
        return self.judge(CHANGING_CALL_ID, f"call_id goes from {self.call_id} to {other}")

    def _keep_name(self, content: dict[str, Json]) -> None:
        name = content.get("name")
        if not nonblank(name if isinstance(name, str) else None):
            message = "the item that closes the call has no name"
            if self._state.report(EMPTY_NAME, message, self.call, severity=WARNING):
                content["name"] = self.name
        elif name != self.name and name == self.call.name:
            content["name"] = self.name
