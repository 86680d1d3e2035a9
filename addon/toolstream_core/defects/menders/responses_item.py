"""One function call of a Responses stream as the client is told it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls import known
from toolstream_core.calls.book import same_arguments
from toolstream_core.calls.json_text import is_json, is_object
from toolstream_core.defects.identity import (
    LATE_NAME,
    MISSING_INDEX,
    ROTATING_ITEM_ID,
)
from toolstream_core.defects.menders.responses_events import ADDED, CLOSED, DELTA, DONE
from toolstream_core.defects.menders.responses_identity import Identity
from toolstream_core.defects.menders.responses_kept import Kept
from toolstream_core.defects.menders.responses_said import Said
from toolstream_core.defects.wording import LOST_ARGUMENTS, PREFILLED_ARGUMENTS
from toolstream_core.wire import look

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.menders.responses_items import ItemsMender
    from toolstream_core.model import Json


class Item(Identity):
    """A function call, from the event that adds it to the one that closes it."""

    keyed = False
    """Whether it is found by its call_id."""
    dropped = False
    """Whether its events so far went, as it seemed to say another call again."""
    _contradicted = False
    """Whether other arguments were said behind the event that closed it."""
    wrapped = False
    """Whether it is to be said as a custom tool's, once it is whole."""

    def __init__(self, mender: ItemsMender, call: OpenCall) -> None:
        """A call of which nothing has been told."""
        super().__init__(mender, call)
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
        self.said = Said(mender, call)
        """Its arguments."""
        self.custom: dict[str, Json] | None = None
        """The item of the custom tool that it was said as."""
        self.kept = Kept()
        """Its events, while nobody can be told of it: it was not added, or has no name yet."""
        self._last: dict[str, Json] = {}

    @property
    def whole(self) -> bool:
        """Whether nothing is missing of it but what closes it."""
        if self._last.get("status") == "incomplete" or self._contradicted:
            return False
        if self.in_pieces and self._mender.astray:
            return False
        over = (self.done or self.closed or self.call.closed) and not self.in_pieces
        return self.said.whole if over else self.said.whole_by_itself

    def opened(self, payload: dict[str, Json]) -> dict[str, Json]:
        """The event that adds it."""
        self.added = True
        item = payload.get("item")
        content = dict(item) if isinstance(item, dict) else {}
        self.identify(content)
        said = content.get("name")
        if self.name and not known(said if isinstance(said, str) else None):
            self.unnamed = True
            content["name"] = self.name if self._mender.on(LATE_NAME) else said
            self.named()
        said = content.get("arguments")
        if said is not None and not isinstance(said, str | dict):
            self.said.as_text(said)
        elif said not in ("", None) and self.judge(PREFILLED_ARGUMENTS, "the item is added with its arguments"):
            content["arguments"] = ""
            self.said.begun(said)
        self._last = content
        return payload if content == item else {**payload, "item": content}

    def placed(self, payload: dict[str, Json], kind: str) -> dict[str, Json]:
        """An event of it under its place and item id; one that is only guessed to be of it as it came."""
        changed = payload
        if self.call.guessed and "output_index" not in payload and not payload.get("item_id"):
            return payload
        if "output_index" not in payload:
            if self.judge(MISSING_INDEX, "an event of the item has no output_index"):
                changed = {**changed, "output_index": self.place}
        elif self.moved:
            changed = {**changed, "output_index": self.place}
        if kind in {DELTA, DONE}:
            own = payload.get("item_id")
            mine = self.id and self.id not in self._mender.shared_ids
            if own != self.id and mine and self.judge(ROTATING_ITEM_ID, "the event has another item id"):
                changed = {**changed, "item_id": self.id}
        return changed

    @property
    def amid(self) -> bool:
        """Whether plain text in the midst of its arguments goes on as it is."""
        return self.added and not (self.done or self.closed or self.in_pieces) and self.said.amid

    @property
    def takes_any(self) -> bool:
        """Whether pieces of its arguments may go by unseen, and be taken later."""
        return self.added and not (self.done or self.closed or self.in_pieces) and self.said.decided

    def said_whole(self, payload: dict[str, Json]) -> dict[str, Json]:
        """The event that says its arguments whole; what the deltas lack comes before it."""
        self.done = True
        text = self.said.cleaned(payload.get("arguments"))
        last = str(self._last.get("arguments") or "")
        self._contradicted = self.closed and bool(text) and not same_arguments(text or "", last)
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
        self.same_identity(content)
        text = self.said.cleaned(content.get("arguments"))
        if text is not None:
            content["arguments"] = text

    def says(self, payload: dict[str, Json]) -> bool:
        """Whether the event that closes it says nothing new."""
        again = look.argument_text(look.get(payload, "item", "arguments"))[0]
        last = str(self._last.get("arguments"))
        if not again or not isinstance(again, str) or same_arguments(again, last):
            return not again or isinstance(again, str)
        return same_arguments(self.said.cleaned(again) or "", last)

    def is_piece(self, closing: dict[str, Json]) -> bool:
        """Whether the event that closes it says a part of its arguments, so that the rest may come in another item."""
        said = look.get(closing, "item", "arguments")
        part = isinstance(said, str) and said != "" and not is_json(said)
        return part or not self.whole or self.call.arguments.empty

    def say(self, item: Json) -> None:
        """Say the whole call in new events: nobody has heard of it yet."""
        content = self._begin(item, self.said.meant)
        self.finish(content.get("status") or "completed")

    def say_half(self, item: Json) -> dict[str, Json]:
        """Say a call from its begin, of which more may come; the item that closes it where nothing does."""
        text = "" if self.call.arguments.empty else self.said.meant
        content = self._begin(item, text)
        self.closed = True
        self._mender.places.closed[self.place] = self._last
        return {**self._last, "name": self.name, "status": content.get("status") or "completed"}

    def _begin(self, item: Json, text: str) -> dict[str, Json]:
        """Add it in new events, and say its arguments as far as they came."""
        self._mender.spoken(self)
        content = self.taken_over(item)
        empty = {**content, "arguments": "", "status": "in_progress"}
        self._mender.put({"type": ADDED, "output_index": self.place, "item": empty})
        self._put_delta(text)
        self.said.take(text)
        self._last = {**content, "arguments": text}
        return content

    def taken_over(self, item: Json) -> dict[str, Json]:
        """An item of which nobody has heard, at a place and under ids of its own."""
        content = dict(item) if isinstance(item, dict) else {}
        content.setdefault("type", "function_call")
        self.place = self._mender.places.next(self.call.index)
        self._mender.places.take(self.place)
        self.identify(content)
        if self._mender.told_items[self.id] is not self:
            self.id = content["id"] = self._mender.context.ids.make("fc_")
        self.named()
        said: dict[str, Json] = {"name": self.name, "call_id": self.call_id}
        content |= {key: value for key, value in said.items() if value}
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
        if not self.added or self.closed:
            return
        if meant:
            self.said.begun("")
        self._put_delta(self.said.rest(meant))

    def say_head(self, delta: str = "") -> None:
        """Give the client what the item was added with, as far as a delta at hand goes on with it."""
        if self.added and not self.closed:
            self._put_delta(self.said.head(delta))

    def _put_delta(self, text: str) -> None:
        if text:
            self._mender.put({"type": DELTA, "item_id": self.id, "output_index": self.place, "delta": text})
            self.said.tell(text)

    def _complete(self, text: str) -> bool:
        """Give the client what the deltas lack of the arguments; whether they lacked anything."""
        lacking = self.said.lacking(text)
        self._put_delta(lacking)
        if lacking and not is_object(text):
            self.said.take(lacking)
        return bool(lacking)

    def _lost(self) -> None:
        if self.call.arguments.empty and not self._mender.context.may_be_empty(self.call.name):
            self.judge(LOST_ARGUMENTS, f"{self.call.name} has required parameters and got no arguments")
