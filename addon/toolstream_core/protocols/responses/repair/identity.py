"""Adds the client's items: their places, ids and names."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from toolstream_core.calls import nonblank
from toolstream_core.defects.arguments import OBJECT_ARGUMENTS, PREFILLED_ARGUMENTS
from toolstream_core.defects.finish import REPEATED_START
from toolstream_core.defects.identity import (
    DOUBLED_CALL,
    DUPLICATE_ID,
    ITEM_PER_FRAGMENT,
    MISSING_ID,
    MISSING_INDEX,
    REUSED_INDEX,
)
from toolstream_core.protocols.responses.repair import events
from toolstream_core.protocols.responses.repair.client import ClientItem
from toolstream_core.protocols.responses.repair.writer import MESSAGES
from toolstream_core.repair.identity import judge_id, judge_name
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.defects.defect import Defect
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.intended import CallEvent, IntendedCall
    from toolstream_core.protocols.responses.repair.stream import Stream
    from toolstream_core.protocols.responses.repair.writer import ItemWriter
    from toolstream_core.repair.fields import Payload

_USUAL_ID: Final = re.compile(r"[\w.:|-]{1,64}", re.ASCII)


class Identities:
    """Adds the items of one stream."""

    def __init__(self, stream: Stream, writer: ItemWriter) -> None:
        self._stream, self._writer = stream, writer

    def added(self, received: CallEvent) -> Payload:
        """The event that adds the item, as it is sent."""
        intended, payload = received.intended, received.payload
        place, why = self._place(intended, payload.get("output_index"))
        if why is not None and not self._writer.repairs(why, intended, MESSAGES[why.name]):
            place, why = place if why is MISSING_INDEX else int(payload["output_index"]), None
        item = payload.get("item")
        has = self._identify(intended, item, place, why)
        self._stream.client.open_text.clear()
        wanted = events.complete_item(has, "")
        if not has.name:
            del wanted["name"]
        if not isinstance(item, dict) or item.get("arguments") in ("", None) or "arguments" not in item:
            del wanted["arguments"]
        elif not isinstance(item["arguments"], str | dict):
            self._writer.repairs(OBJECT_ARGUMENTS, intended)
            del wanted["arguments"]
        out = self._writer.written(received, {"output_index": place, **wanted}, events.OF_ITEM)
        if "arguments" in wanted and out["item"]["arguments"] == "":
            has.why["arguments"] = PREFILLED_ARGUMENTS
        has.content = dict(out["item"]) if isinstance(out.get("item"), dict) else {}
        return out

    def put_added(self, intended: IntendedCall, item: Json, defect: Defect, received: CallEvent | None = None) -> None:
        """Send an event that adds the item, because of `defect`."""
        has = self.adopt(intended, item, defect)
        intended.defect = has.why["added"] = defect
        if received is not None and received.payload.get("output_index") != has.place:
            has.why.setdefault("output_index", defect)
        self._stream.put(events.added(has), intended.call)

    def adopt(self, intended: IntendedCall, item: Json, defect: Defect) -> ClientItem:
        """Add a call to the client's items that no event added."""
        place, why = self._place(intended, intended.call.index)
        has = self._identify(intended, item, place, None if why is None else defect)
        self._stream.client.open_text.clear()
        return has

    def added_again(self, received: CallEvent) -> None:
        """Handle an event that adds an item again."""
        intended, payload = received.intended, received.payload
        has = intended.has
        assert has is not None
        arguments = json_access.get(payload, "item", "arguments")
        if (
            arguments
            and isinstance(arguments, str)
            and not (has.done or has.closed)
            and self._writer.repairs(PREFILLED_ARGUMENTS, intended)
        ):
            has.why["arguments"] = PREFILLED_ARGUMENTS
        own = json_access.get(payload, "item", "id")
        if own == has.id and (why := has.why.pop("added", None)) is not None:
            drop = self._writer.repairs(why, intended)
        elif own == has.id and not (has.closed or intended.is_split):
            drop = self._writer.repairs(REPEATED_START, intended)
        elif intended.is_split:
            drop = self._writer.repairs(ITEM_PER_FRAGMENT, intended)
            has.closed = False
            if drop and isinstance(own, str):
                intended.dropped[own] = payload
        else:
            drop = self._writer.repairs(DOUBLED_CALL, intended)
        if not drop:
            self._stream.send_for(received, payload)

    def _identify(self, intended: IntendedCall, item: Json, place: int, moved: Defect | None) -> ClientItem:
        """Decide the ids and the name under which the client has the call."""
        stream, call = self._stream, intended.call
        own = json_access.get(item, "id")
        item_id = own if isinstance(own, str) and own else call.item_id or stream.context.ids.make("fc_")
        has = intended.has = ClientItem(intended.arguments, place, item_id, call.id, call.name)
        has.content = dict(item) if isinstance(item, dict) else {}
        others = {
            one.has.call_id for one in stream.calls.by_key.values() if one.has is not None and one is not intended
        }
        if not nonblank(call.id) or (call.id in others and intended.is_duplicate is not True):
            defect = MISSING_ID if not nonblank(call.id) else DUPLICATE_ID
            if self._writer.repairs(defect, intended):
                has.call_id, has.why["call_id"] = stream.context.ids.make("call_"), defect
        judge = partial(self._report, intended)
        judge_id(call.id, stream.calls.earlier_ids, judge, _USUAL_ID)
        has.name = judge_name(call.name, stream.context.schemas, judge)
        stream.client.take_place(place)
        intended.passed = False
        if moved is not None:
            has.why["output_index"] = stream.client.moved[place] = moved
            if isinstance(call.index, int):
                stream.client.moved[call.index] = moved
        return has

    def _report(self, intended: IntendedCall, defect: Defect, message: str) -> bool:
        return self._writer.repairs(defect, intended, message)

    def _place(self, intended: IntendedCall, index: object) -> tuple[int, Defect | None]:
        """A place for a new item, and the defect because of which it is not the event's `output_index`."""
        client = self._stream.client
        place = json_access.integer(index)
        if not isinstance(place, int):
            return client.free, MISSING_INDEX
        if place in client.taken:
            return client.free, REUSED_INDEX
        joined = any(one.is_split for one in self._stream.calls.by_key.values())
        return (client.free, ITEM_PER_FRAGMENT) if joined and place > client.free else (place, None)
