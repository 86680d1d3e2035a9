"""One function call of a Responses stream as the client is told it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolstream_core.calls import known
from toolstream_core.calls.book import same_arguments
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
    ROTATING_ITEM_ID,
)
from toolstream_core.defects.menders.names import plain_name
from toolstream_core.defects.menders.responses_events import ADDED, CLOSED, DELTA, DONE
from toolstream_core.defects.menders.responses_said import Said
from toolstream_core.defects.row import WARNING
from toolstream_core.defects.wording import LOST_ARGUMENTS, PREFILLED_ARGUMENTS
from toolstream_core.wire import look

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.menders.responses_items import ItemsMender
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.wire.frame import Frame

_USUAL_ID = re.compile(r"[\w.:|-]{1,64}", re.ASCII)


class Item:
    """A function call, from the event that adds it to the one that closes it."""

    keyed = False
    """Whether it is found by its call_id."""
    wrapped = False
    """Whether it is to be said as a custom tool's, once it is whole."""

    def __init__(self, mender: ItemsMender, call: OpenCall) -> None:
        """A call of which nothing has been told."""
        self._mender = mender
        self.call = call
        self.known = False
        """Whether its events go on as they come."""
        self.added = False
        self.done = False
        """Whether its arguments were said whole."""
        self.closed = False
        self.in_pieces = False
        """Whether its fragments come as items of their own."""
        self.place = 0
        self.moved = False
        """Whether its events carry another output_index than its place."""
        self.id = ""
        self.call_id = ""
        self.name = ""
        self.said = Said(mender, call)
        """Its arguments."""
        self.custom: dict[str, Json] | None = None
        """The item of the custom tool that it was said as."""
        self.kept: list[Frame] = []
        """Its events, while nobody can be told of it: it was not added, or has no name yet."""
        self.kept_bytes = 0
        self.unnamed = False
        """Whether it was added without a name."""
        self._last: dict[str, Json] = {}

    def judge(self, row: Row, message: str) -> bool:
        """Tell a defect of this call at the event that is looked at."""
        return self.said.judge(row, message)

    @property
    def whole(self) -> bool:
        """Whether nothing is missing of it but what closes it."""
        if self._last.get("status") == "incomplete":
            return False
        over = (self.done or self.closed or self.call.closed) and not self.in_pieces
        return self.said.whole if over else self.said.whole_by_itself

    def opened(self, payload: dict[str, Json]) -> dict[str, Json]:
        """The event that adds it."""
        self.added = True
        item = payload.get("item")
        content = dict(item) if isinstance(item, dict) else {}
        self._identify(content)
        said = content.get("name")
        if self.name and not known(said if isinstance(said, str) else None):
            self.unnamed = True
            content["name"] = self.name if self._mender.on(LATE_NAME) else said
            self.named()
        said = content.get("arguments")
        if said not in ("", None) and self.judge(PREFILLED_ARGUMENTS, "the item is added with its arguments"):
            content["arguments"] = ""
        self._last = content
        return payload if content == item else {**payload, "item": content}

    def placed(self, payload: dict[str, Json], kind: str) -> dict[str, Json]:
        """An event of it under its place and item id."""
        changed = payload
        if "output_index" not in payload:
            if self.judge(MISSING_INDEX, "an event of the item has no output_index"):
                changed = {**changed, "output_index": self.place}
        elif self.moved:
            changed = {**changed, "output_index": self.place}
        if kind in {DELTA, DONE}:
            own = payload.get("item_id")
            if own != self.id and self.id and self.judge(ROTATING_ITEM_ID, "the event has another item id"):
                changed = {**changed, "item_id": self.id}
        return changed

    @property
    def amid(self) -> bool:
        """Whether plain text in the midst of its arguments goes on as it is."""
        return self.added and not (self.done or self.closed or self.in_pieces) and self.said.amid

    def said_whole(self, payload: dict[str, Json]) -> dict[str, Json]:
        """The event that says its arguments whole; what the deltas lack comes before it."""
        self.done = True
        text = self.said.cleaned(payload.get("arguments"))
        self.say_rest(text)
        if text is None:
            return payload
        self._complete(text)
        return payload if text == payload.get("arguments") else {**payload, "arguments": text}

    def closing(self, payload: dict[str, Json]) -> dict[str, Json]:
        """The event that closes it."""
        item = payload.get("item")
        content = dict(item) if isinstance(item, dict) else {}
        self.same(content)
        said = content.get("arguments")
        self.say_rest(said if isinstance(said, str) else None)
        if isinstance(content.get("arguments"), str) and not self.done and self._complete(content["arguments"]):
            place = {"item_id": self.id, "output_index": self.place}
            self._mender.put({"type": DONE, **place, "arguments": content["arguments"]})
        self.closed = True
        self._last = content
        self._mender.places.closed[self.place] = content
        self._lost()
        self.named()
        return payload if content == item else {**payload, "item": content}

    def same(self, content: dict[str, Json]) -> None:
        """Make an item that says the call again say the same."""
        if self.id and content.get("id") != self.id and self.judge(ROTATING_ITEM_ID, "the item has another id"):
            content["id"] = self.id
        if self.call_id and content.get("call_id") != self.call_id and self._keeps_call_id(content.get("call_id")):
            content["call_id"] = self.call_id
            self._comes_late(self.call.id)
        if self.name:
            self._same_name(content)
        text = self.said.cleaned(content.get("arguments"))
        if text is not None:
            content["arguments"] = text

    def _comes_late(self, identity: str) -> None:
        """An id that comes when the client has a made-up one already; no other call may have it."""
        ids = self._mender.context.ids
        others = (item for item in self._mender.items if item is not self)
        if ids.made(self.call_id) and all(identity not in {one.call_id, one.call.id} for one in others):
            ids.stands_for(self.call_id, identity, self.name)

    def _keeps_call_id(self, other: Json) -> bool:
        """Whether the call_id that the client has stands for `other`; who never gave one has not changed it."""
        if other == self.call.id:
            return True
        if not known(self.call.id) and not known(other if isinstance(other, str) else None):
            return self.judge(MISSING_ID, "the item has no call_id")
        return self.judge(CHANGING_CALL_ID, f"call_id goes from {self.call_id} to {other}")

    def _same_name(self, content: dict[str, Json]) -> None:
        said = content.get("name")
        if not known(said if isinstance(said, str) else None):
            message = "the item that closes the call has no name"
            if self._mender.tell(EMPTY_NAME, self._mender.number, message, self.call, severity=WARNING):
                content["name"] = self.name
        elif said != self.name and said == self.call.name:
            content["name"] = self.name

    def says(self, payload: dict[str, Json]) -> bool:
        """Whether the event that closes it says nothing new."""
        again = look.argument_text(look.get(payload, "item", "arguments"))[0]
        return not again or (isinstance(again, str) and same_arguments(again, str(self._last.get("arguments"))))

    def say(self, item: Json) -> None:
        """Say the whole call in new events: nobody has heard of it yet."""
        self._mender.spoken(self)
        content = self.taken_over(item)
        text = self.said.meant
        status = content.get("status") or "completed"
        place = {"output_index": self.place}
        empty = {**content, "arguments": "", "status": "in_progress"}
        self._mender.put({"type": ADDED, **place, "item": empty})
        self._mender.put({"type": DELTA, "item_id": self.id, **place, "delta": text})
        self.said.tell(text)
        self._last = {**content, "arguments": text}
        self.finish(status)

    def taken_over(self, item: Json) -> dict[str, Json]:
        """An item of which nobody has heard, at a place and under ids of its own."""
        content = dict(item) if isinstance(item, dict) else {}
        content.setdefault("type", "function_call")
        self.place = self._mender.places.next(self.call.index)
        self._mender.places.take(self.place)
        self._identify(content)
        self.added = self.known = True
        return content

    def finish(self, status: Json = "completed") -> None:
        """Close it in new events, with the arguments as they were meant."""
        place, text = {"output_index": self.place}, self.said.meant
        self._complete(text)
        if not self.done:
            self._mender.put({"type": DONE, "item_id": self.id, **place, "arguments": text})
        content = {**self._last, "id": self.id, "call_id": self.call_id, "name": self.name, "arguments": text}
        content["status"] = status
        self._mender.put({"type": CLOSED, **place, "item": content})
        self._mender.places.closed[self.place] = content
        self.done = self.closed = True

    def say_rest(self, meant: str | None = None) -> None:
        """Give the client what was kept back of the deltas; `meant` as for `Said.rest`."""
        rest = self.said.rest(meant) if self.added and not self.closed else ""
        if rest:
            self._mender.put({"type": DELTA, "item_id": self.id, "output_index": self.place, "delta": rest})
            self.said.tell(rest)

    def _complete(self, text: str) -> bool:
        """Give the client what the deltas lack of the arguments; whether they lacked anything."""
        lacking = self.said.lacking(text)
        if lacking:
            place = {"item_id": self.id, "output_index": self.place}
            self._mender.put({"type": DELTA, **place, "delta": lacking})
            self.said.tell(lacking)
        return bool(lacking)

    def _identify(self, content: dict[str, Json]) -> None:
        mender, call = self._mender, self.call
        own = content.get("id")
        self.id = own if isinstance(own, str) and own else call.item_id or mender.context.ids.make("fc_")
        content["id"] = self.id if own is None or own == "" else own
        self.call_id, self.name = call.id, call.name
        if not known(call.id):
            mend = self.judge(MISSING_ID, "the item has no call_id")
        else:
            mend = (
                mender.told_ids.get(call.id, self) is not self
                and not mender.repeats.repeats(call)
                and self.judge(DUPLICATE_ID, f"call_id {call.id} is that of another call")
            )
        if mend:
            self.call_id = mender.context.ids.make("call_")
            content["call_id"] = self.call_id
        mender.told_ids.setdefault(self.call_id, self)
        if call.id in mender.earlier_ids:
            self.judge(REUSED_ID, f"call_id {call.id} was that of a call of an earlier turn")
        if call.id and not _USUAL_ID.fullmatch(call.id):
            self.judge(ODD_ID, f"the call_id has {len(call.id)} characters, or some that other APIs refuse")
        if not call.name:
            self.unnamed = True
            return
        plain = plain_name(call.name, mender.context.schemas)
        if plain != call.name and self.judge(DECORATED_NAME, f"the name is {call.name!r}, the tool is {plain}"):
            self.name = content["name"] = plain

    def named(self) -> None:
        """Judge a name that was not there when the item was added."""
        if self.unnamed and self.call.name:
            self.judge(LATE_NAME, "the name comes with a later event than the one that adds the item")
        elif self.unnamed:
            self.judge(MISSING_NAME, "the call has no name")
        self.unnamed = False

    def _lost(self) -> None:
        if self.call.arguments.empty and not self._mender.context.may_be_empty(self.call.name):
            self.judge(LOST_ARGUMENTS, f"{self.call.name} has required parameters and got no arguments")
