"""Ids and name of one Responses item, as the client is told them."""

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
    MISSING_NAME,
    ODD_ID,
    REUSED_ID,
    ROTATING_ITEM_ID,
)
from toolstream_core.defects.row import WARNING
from toolstream_core.stages.repair.names import plain_name

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.item_sequence import ItemRepairer

_USUAL_ID = re.compile(r"[\w.:|-]{1,64}", re.ASCII)


class Identity:
    """Who a function call is, from the event that adds it on."""

    def __init__(self, repairer: ItemRepairer, call: OpenCall) -> None:
        """A call of which nothing has been told."""
        self._repairer = repairer
        self.call = call
        self.id = ""
        self.call_id = ""
        self.name = ""
        self.unnamed = False
        """Whether it was added without a name."""

    def judge(self, row: Row, message: str) -> bool:
        """Tell a defect of this call at the event that is looked at."""
        return self._repairer.report(row, self._repairer.number, message, self.call)

    def identify(self, content: dict[str, Json]) -> None:
        """Settle under which ids and name the client knows it, given the item that adds it."""
        repairer, call = self._repairer, self.call
        own = content.get("id")
        self.id = own if isinstance(own, str) and own else call.item_id or repairer.context.ids.make("fc_")
        if repairer.told_items.setdefault(self.id, self) is not self:
            repairer.shared_ids.add(self.id)
        if own in (None, "") and self.judge(ROTATING_ITEM_ID, "the item is added without an id"):
            content["id"] = self.id
        self.call_id, self.name = call.id, call.name
        if not nonblank(call.id):
            repair = self.judge(MISSING_ID, "the item has no call_id")
        else:
            repair = (
                repairer.told_ids.get(call.id, self) is not self
                and not repairer.repeats.repeats(call)
                and self.judge(DUPLICATE_ID, f"call_id {call.id} is that of another call")
            )
        if repair:
            self.call_id = repairer.context.ids.make("call_")
            content["call_id"] = self.call_id
        repairer.told_ids.setdefault(self.call_id, self)
        if call.id in repairer.earlier_ids:
            self.judge(REUSED_ID, f"call_id {call.id} was that of a call of an earlier turn")
        if call.id and not _USUAL_ID.fullmatch(call.id):
            self.judge(ODD_ID, f"the call_id has {len(call.id)} characters, or some that other APIs refuse")
        if not call.name:
            self.unnamed = True
            return
        plain = plain_name(call.name, repairer.context.schemas)
        if plain != call.name and self.judge(DECORATED_NAME, f"the name is {call.name!r}, the tool is {plain}"):
            self.name = content["name"] = plain

    def named(self) -> None:
        """Judge a name that was not there when the item was added."""
        if self.unnamed and self.call.name:
            self.judge(LATE_NAME, "the name comes with a later event than the one that adds the item")
        elif self.unnamed:
            self.judge(MISSING_NAME, "the call has no name")
        self.unnamed = False

    def same_identity(self, content: dict[str, Json]) -> None:
        """Make an item that says the call again say it under the same ids and name."""
        if self.id and content.get("id") != self.id and self.judge(ROTATING_ITEM_ID, "the item has another id"):
            content["id"] = self.id
        if self.call_id and content.get("call_id") != self.call_id and self._keeps_call_id(content.get("call_id")):
            content["call_id"] = self.call_id
            self._comes_late(self.call.id)
        if self.name:
            self._same_name(content)

    def _comes_late(self, identity: str) -> None:
        """An id that comes when the client has a made-up one already; no other call may have it."""
        ids = self._repairer.context.ids
        others = (item for item in self._repairer.items if item is not self)
        if ids.made(self.call_id) and all(identity not in {one.call_id, one.call.id} for one in others):
            ids.stands_for(self.call_id, identity, self.name)

    def _keeps_call_id(self, other: Json) -> bool:
        """Whether the call_id that the client has stands for `other`; who never gave one has not changed it."""
        if other == self.call.id:
            return True
        if not nonblank(self.call.id) and not nonblank(other if isinstance(other, str) else None):
            return self.judge(MISSING_ID, "the item has no call_id")
        return self.judge(CHANGING_CALL_ID, f"call_id goes from {self.call_id} to {other}")

    def _same_name(self, content: dict[str, Json]) -> None:
        said = content.get("name")
        if not nonblank(said if isinstance(said, str) else None):
            message = "the item that closes the call has no name"
            if self._repairer.report(EMPTY_NAME, self._repairer.number, message, self.call, severity=WARNING):
                content["name"] = self.name
        elif said != self.name and said == self.call.name:
            content["name"] = self.name
