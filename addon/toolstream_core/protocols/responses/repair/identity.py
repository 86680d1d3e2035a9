"""Who a call is to the client: the event that adds its item, its place, its ids and its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolstream_core.calls import nonblank
from toolstream_core.defects.arguments import OBJECT_ARGUMENTS, PREFILLED_ARGUMENTS
from toolstream_core.defects.finish import REPEATED_START
from toolstream_core.defects.identity import (
    DECORATED_NAME,
    DOUBLED_CALL,
    DUPLICATE_ID,
    ITEM_PER_FRAGMENT,
    MISSING_ID,
    MISSING_INDEX,
    MISSING_NAME,
    ODD_ID,
    REUSED_ID,
    REUSED_INDEX,
)
from toolstream_core.protocols.responses.repair import events
from toolstream_core.protocols.responses.repair.client import ClientItem
from toolstream_core.protocols.responses.repair.rows import MESSAGES
from toolstream_core.stages.repair.names import plain_name
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.answer import Answer
    from toolstream_core.protocols.responses.repair.truth import Meant
    from toolstream_core.protocols.responses.repair.writer import Came, ItemWriter
    from toolstream_core.repair.fields import Payload

_USUAL_ID: Final = re.compile(r"[\w.:|-]{1,64}", re.ASCII)


class Identities:
    """Adds the items of one answer."""

    def __init__(self, answer: Answer, writer: ItemWriter) -> None:
        """For one stream."""
        self._answer, self._writer = answer, writer

    def added(self, came: Came) -> Payload:
        """The event that adds the item, as the client is to get it."""
        meant, payload = came.meant, came.payload
        place, why = self._place(meant, payload.get("output_index"))
        if why is not None and not self._writer.told(why, meant, MESSAGES[why.name]):
            place, why = place if why is MISSING_INDEX else int(payload["output_index"]), None
        item = payload.get("item")
        has = self._identify(meant, item, place, why)
        self._answer.client.open_text.clear()
        wanted = events.whole_item(has, "")
        if not has.name:
            del wanted["name"]
        if not isinstance(item, dict) or item.get("arguments") in ("", None) or "arguments" not in item:
            del wanted["arguments"]
        elif not isinstance(item["arguments"], str | dict):
            self._writer.told(OBJECT_ARGUMENTS, meant)
            del wanted["arguments"]
        out = self._writer.mended(came, {"output_index": place, **wanted}, events.OF_ITEM)
        if "arguments" in wanted and out["item"]["arguments"] == "":
            has.why["arguments"] = PREFILLED_ARGUMENTS
        has.content = dict(out["item"]) if isinstance(out.get("item"), dict) else {}
        return out

    def put_added(self, meant: Meant, item: Json, row: Row, came: Came | None = None) -> None:
        """Add the item with an event of our own, because of `row`."""
        has = self.adopt(meant, item, row)
        meant.text_row = has.why["added"] = row
        if came is not None and came.payload.get("output_index") != has.place:
            has.why.setdefault("output_index", row)
        self._answer.put(events.added(has))

    def adopt(self, meant: Meant, item: Json, row: Row) -> ClientItem:
        """Who a call is that no event added, and where."""
        place, why = self._place(meant, meant.call.index)
        has = self._identify(meant, item, place, None if why is None else row)
        self._answer.client.open_text.clear()
        return has

    def added_again(self, came: Came) -> None:
        """An event that adds an item of which the client has one."""
        meant, payload = came.meant, came.payload
        has = meant.has
        assert has is not None
        said = json_access.get(payload, "item", "arguments")
        if (
            said
            and isinstance(said, str)
            and not (has.said or has.closed)
            and self._writer.told(PREFILLED_ARGUMENTS, meant)
        ):
            has.why["arguments"] = PREFILLED_ARGUMENTS
        own = json_access.get(payload, "item", "id")
        if own == has.id and (why := has.why.pop("added", None)) is not None:
            drop = self._writer.told(why, meant)
        elif own == has.id and not (has.closed or meant.in_pieces):
            drop = self._writer.told(REPEATED_START, meant)
        elif meant.in_pieces:
            drop = self._writer.told(ITEM_PER_FRAGMENT, meant)
            has.closed = False
            if drop and isinstance(own, str):
                meant.dropped[own] = payload
        else:
            drop = self._writer.told(DOUBLED_CALL, meant)
        if not drop:
            self._answer.send(came.frame, payload)

    def _identify(self, meant: Meant, item: Json, place: int, moved: Row | None) -> ClientItem:
        """Who the call is to the client, from here on."""
        answer, call = self._answer, meant.call
        own = json_access.get(item, "id")
        item_id = own if isinstance(own, str) and own else call.item_id or answer.context.ids.make("fc_")
        has = meant.has = ClientItem(meant.letter, place, item_id, call.id, call.name)
        has.content = dict(item) if isinstance(item, dict) else {}
        others = {one.has.call_id for one in answer.truth.calls.values() if one.has is not None and one is not meant}
        if not nonblank(call.id) or (call.id in others and meant.said_again is not True):
            row = MISSING_ID if not nonblank(call.id) else DUPLICATE_ID
            if self._writer.told(row, meant):
                has.call_id, has.why["call_id"] = answer.context.ids.make("call_"), row
        if call.id in answer.truth.earlier_ids:
            self._writer.told(REUSED_ID, meant, f"call_id {call.id} was that of a call of an earlier turn")
        if call.id and not _USUAL_ID.fullmatch(call.id):
            self._writer.told(
                ODD_ID, meant, f"the call_id has {len(call.id)} characters, or some that other APIs refuse"
            )
        plain = plain_name(call.name, answer.context.schemas)
        if plain != call.name and self._writer.told(
            DECORATED_NAME, meant, f"the name is {call.name!r}, the tool is {plain}"
        ):
            has.name = plain
        if not call.name:
            self._writer.told(MISSING_NAME, meant, "the call has no name")
        answer.client.take_place(place)
        meant.passed = False
        if moved is not None:
            has.why["output_index"] = answer.client.moved[place] = moved
            if isinstance(call.index, int):
                answer.client.moved[call.index] = moved
        return has

    def _place(self, meant: Meant, index: object) -> tuple[int, Row | None]:
        """A place for a new item, and why it is not the one that the event says."""
        client = self._answer.client
        place = json_access.integer(index)
        if not isinstance(place, int):
            return client.free, MISSING_INDEX
        if place in client.taken:
            return client.free, REUSED_INDEX
        joined = any(one.in_pieces for one in self._answer.truth.calls.values())
        return (client.free, ITEM_PER_FRAGMENT) if joined and place > client.free else (place, None)
