"""One function call of a Responses stream, as the client has been given it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls import nonblank
from toolstream_core.calls.json_text import is_json, is_object
from toolstream_core.calls.resolver import same_arguments
from toolstream_core.defects.arguments import LOST_ARGUMENTS, PREFILLED_ARGUMENTS
from toolstream_core.defects.identity import LATE_NAME
from toolstream_core.protocols.responses.repair.client_arguments import ClientArguments
from toolstream_core.protocols.responses.repair.event_types import ADDED, CLOSED, DELTA, DONE
from toolstream_core.protocols.responses.repair.identity import Identity
from toolstream_core.protocols.responses.repair.item_start import WAITING, Start
from toolstream_core.protocols.responses.repair.kept_events import KeptEvents
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.state import RepairState


class ClientItem(Identity):
    """A function call, from the event that adds it to the one that closes it."""

    def __init__(self, state: RepairState, call: OpenCall) -> None:
        """A call of which the client knows nothing."""
        super().__init__(state, call)
        self.start = Start.NEW
        self.done = False
        """Whether an event had its whole arguments."""
        self.in_pieces = False
        """Whether its fragments come as items of their own."""
        self.arguments = ClientArguments(state, call)
        self.custom: dict[str, Json] | None = None
        """The custom tool's item in place of which it was sent."""
        self.kept = KeptEvents(call)
        """Its events that wait; see `Start`."""
        self.contradicted = False
        """Whether other arguments came behind the event that closed it."""
        self._last: dict[str, Json] = {}
        """The item as an event had it last."""

    @property
    def added(self) -> bool:
        """Whether the client was given it."""
        return self.start is Start.ADDED

    @property
    def waiting(self) -> bool:
        """Whether its events do not go on yet."""
        return self.start in WAITING

    @property
    def is_open(self) -> bool:
        """Whether the client was given it, and deltas may follow."""
        return self.start is Start.ADDED and not self.closed

    @property
    def whole(self) -> bool:
        """Whether nothing is missing of it but the event that closes it."""
        scattered = self.in_pieces and not self.arguments.joinable
        if scattered or self.lacks or self.contradicted or self._last.get("status") == "incomplete":
            return False
        over = (self.done or self.closed or self.call.closed) and not self.in_pieces
        return self.arguments.whole if over else self.arguments.whole_by_itself

    @property
    def said(self) -> str:
        """The arguments with which it was closed, or so far."""
        return str(self._last.get("arguments") or "") if self.closed else self.arguments.given

    @property
    def inside_value(self) -> bool:
        """Whether plain text within its arguments goes on unchanged."""
        return self.is_open and not (self.done or self.in_pieces) and self.arguments.repair.inside_value

    @property
    def accepts_any(self) -> bool:
        """Whether its deltas may pass unseen, and be taken later."""
        return self.is_open and not (self.done or self.in_pieces) and self.arguments.repair.decided

    def add(self, payload: dict[str, Json]) -> dict[str, Json]:
        """The event that adds it, as the client is to get it."""
        self.start = Start.ADDED
        item = payload.get("item")
        content = dict(item) if isinstance(item, dict) else {}
        self.identify(content)
        name = content.get("name")
        if self.name and not nonblank(name if isinstance(name, str) else None):
            self.unnamed = True
            content["name"] = self.name if self._state.on(LATE_NAME) else name
            self.judge_name()
        arguments = content.get("arguments")
        if arguments is not None and not isinstance(arguments, str | dict):
            self.arguments.as_text(arguments)
        elif arguments not in ("", None) and self.judge(PREFILLED_ARGUMENTS, "the item is added with its arguments"):
            content["arguments"] = ""
            self.arguments.prefill(arguments)
        self._last = content
        return payload if content == item else {**payload, "item": content}

    def finish_arguments(self, payload: dict[str, Json]) -> dict[str, Json]:
        """The event with its whole arguments, as the client is to get it; what the deltas lack is sent before it."""
        text = self.arguments.as_meant(payload.get("arguments"))
        silent = self.closed and not self.said.strip()
        if silent and text:
            self._close_as({**self._last, "arguments": text})
        elif self.closed or self.done:
            self.contradicted = bool(text) and not same_arguments(text or "", self.said)
        self.done = True
        self.send_rest(text)
        self._send_missing(text or "")
        stays = text is None or self._state.places.is_anothers(payload.get("output_index"), self.place)
        return payload if stays or text == payload.get("arguments") else {**payload, "arguments": text}

    def close(self, payload: dict[str, Json]) -> dict[str, Json]:
        """The event that closes it, as the client is to get it; what the deltas lack is sent before it."""
        item = payload.get("item")
        content = dict(item) if isinstance(item, dict) else {}
        self.repeat_in(content)
        text = content.get("arguments")
        self.send_rest(text if isinstance(text, str) else None)
        if isinstance(text, str) and not self.done and self._send_missing(text) and is_json(text):
            self._put_done(text)
        self._close_as(content)
        if self.call.arguments.empty and not self._state.context.may_be_empty(self.call.name):
            self.judge(LOST_ARGUMENTS, f"{self.call.name} has required parameters and got no arguments")
        self.judge_name()
        return payload if content == item else {**payload, "item": content}

    def _close_as(self, content: dict[str, Json]) -> None:
        self.closed = True
        if self.call.arguments.truncated:
            content = {**content, "arguments": ""}
        self._last = content
        self._state.places.closed[self.place] = content

    def repeat_in(self, content: dict[str, Json]) -> None:
        """Give an item that has this call again the ids, name and arguments that the client has; changes that item."""
        self.keep_identity(content)
        text = self.arguments.as_meant(content.get("arguments"))
        if text is not None:
            content["arguments"] = text

    def closed_with(self, payload: dict[str, Json]) -> bool:
        """Whether another event that closes it has the arguments that it was closed with, or none."""
        again = json_access.argument_text(json_access.get(payload, "item", "arguments"))[0]
        if not again or not isinstance(again, str):
            return not again
        return same_arguments(again, self.said) or same_arguments(self.arguments.as_meant(again) or "", self.said)

    def send_rest(self, whole: str | None = None) -> None:
        """Send what was held back of the deltas; `whole` as for `ClientArguments.rest`."""
        if not self.is_open:
            return
        if whole:
            self.arguments.prefilled = ""
        self.send_delta(self.arguments.rest(whole))

    def send_prefill(self, delta: str = "") -> None:
        """Send the arguments that it was added with, unless the `delta` at hand starts them anew."""
        if self.is_open:
            self.send_delta(self.arguments.prefill_before(delta))

    def send_delta(self, text: str) -> None:
        """Send a delta of its arguments, unless that is empty."""
        if text:
            self._state.output.put({"type": DELTA, **self.of_arguments(), "delta": text})
            self.arguments.give(text)

    def _send_missing(self, whole: str) -> bool:
        """Send what the deltas lack of the whole arguments; whether they lacked anything."""
        missing = self.arguments.missing(whole)
        self.send_delta(missing)
        if missing and not is_object(whole):
            self.arguments.take(missing)
        return bool(missing)

    def start_new(self, content: dict[str, Json]) -> dict[str, Json]:
        """Tell the client of the item for the first time, at a place and under ids of its own; returns the item."""
        content = dict(content)
        content.setdefault("type", "function_call")
        self.place = self._state.places.take_next(self.call.index)
        self.moved = self.place != self.call.index
        self.identify(content)
        if not self._state.ids.has_item_id(self.id, self.call):
            self.id = content["id"] = self._state.context.ids.make("fc_")
        self.judge_name()
        identity: dict[str, Json] = {"name": self.name, "call_id": self.call_id}
        content |= {key: value for key, value in identity.items() if value}
        self.start = Start.ADDED
        return content

    def put_start(self, item: Json, text: str) -> dict[str, Json]:
        """Put the events that add it, with arguments as far as they came; returns the item."""
        self._state.replaced.append(self.kept)
        content = self.start_new(item if isinstance(item, dict) else {})
        empty = {**content, "arguments": "", "status": "in_progress"}
        self._state.output.put({"type": ADDED, "output_index": self.place, "item": empty})
        self.send_delta(text)
        self.arguments.take(text)
        self._last = {**content, "arguments": text}
        return content

    def put_whole(self, item: Json) -> None:
        """Put all events of the call: the client knows nothing of it yet."""
        self.put_end(self.put_start(item, self.arguments.meant).get("status") or "completed")

    def put_part(self, item: Json) -> dict[str, Json]:
        """Put the events that add a call of which more may come; returns the item that closes it if nothing does."""
        text = "" if self.call.arguments.empty else self.arguments.meant
        content = self.put_start(item, text)
        self._close_as(self._last)
        return {**self._last, "name": self.name, "status": content.get("status") or "completed"}

    def put_end(self, status: Json = "completed") -> None:
        """Put the events that close it, with the arguments as they were meant."""
        text = self.arguments.meant
        self._send_missing(text)
        if not self.done:
            self._put_done(text)
        said: dict[str, Json] = {"name": self.name, "arguments": text, "status": status}
        content = {**self._last, "id": self.id, "call_id": self.call_id, **said}
        self._state.output.put({"type": CLOSED, "output_index": self.place, "item": content})
        self._state.places.closed[self.place] = content
        self.done = self.closed = True

    def _put_done(self, text: str) -> None:
        self._state.output.put({"type": DONE, **self.of_arguments("name"), "arguments": text})
