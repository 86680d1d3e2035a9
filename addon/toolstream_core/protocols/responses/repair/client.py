"""The state of a client that follows the documentation: the response and its calls."""

from __future__ import annotations

import re
from typing import Final

from toolstream_core.calls import OpenCall
from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.defects.defect import Defect
from toolstream_core.model import ABSENT, Json, Kind, Seen
from toolstream_core.protocols.responses.repair.events import ADDED, CLOSED, DELTA, DONE
from toolstream_core.repair.client_text import ClientText
from toolstream_core.wire import json_access
from toolstream_core.wire.json_value import Payload

_NUMBER_KEY: Final = b'"sequence_number"'
_NUMBER: Final = re.compile(_NUMBER_KEY + rb"\s*:\s*([0-9]{1,18})")


class ClientItem:
    """A call in the client, from the event that adds it."""

    def __init__(
        self, arguments: ArgumentText, place: int, item_id: str, call: OpenCall, *, is_named: bool = False
    ) -> None:
        """`is_named`: whether events with arguments have the call's id, and the last one its name."""
        self.place, self.id, self.call_id, self.name = place, item_id, call.id, call.name
        self._is_named = is_named
        self.namespace: Seen[str] = ""
        """The namespace of its tool; `""` if that is unknown, `ABSENT` if it has none."""
        self.text = ClientText(arguments)
        """Its arguments in deltas."""
        self.done = self.closed = False
        """Whether an event with its complete arguments was sent; whether its closing event was sent."""
        self.is_custom = call.kind is Kind.CUSTOM
        """Whether it was sent as a custom tool call."""
        self.final = ""
        """The complete arguments in the last event that has them."""
        self.content: dict[str, Json] = {}
        """The item as last sent."""
        self.why: dict[str, Defect] = {}
        """By key: the defect for which another value was sent than received."""

    def adding(self) -> Payload:
        """The event that adds it."""
        return {"type": ADDED, "output_index": self.place, "item": self._item("", "in_progress")}

    def delta(self, text: str) -> Payload:
        """A fragment of its arguments."""
        return {"type": DELTA, **self._whose(), "delta": text}

    def arguments_done(self, text: str) -> Payload:
        """The event with its complete arguments."""
        return {"type": DONE, **self._whose("name"), "arguments": text}

    def closing(self, text: str, status: Json = "completed") -> Payload:
        """The event that closes it."""
        return {"type": CLOSED, "output_index": self.place, "item": self._item(text, status)}

    def fields(self, text: str) -> Payload:
        """The fields of the item with these arguments; without an unknown name or namespace."""
        known: Payload = {"id": self.id, "call_id": self.call_id, "name": self.name, "namespace": self.namespace}
        known = {key: value for key, value in known.items() if value != "" or key not in {"name", "namespace"}}
        return known | {"arguments": text}

    def _item(self, text: str, status: Json) -> Payload:
        item = {**self.content, "type": "function_call", **self.fields(text), "name": self.name, "status": status}
        return {key: value for key, value in item.items() if value is not ABSENT}

    def _whose(self, *more: str) -> Payload:
        """The fields that identify the call in an event with arguments."""
        place: Payload = {"item_id": self.id, "output_index": self.place}
        known: Payload = {"call_id": self.call_id, "name": self.name}
        return place | {key: known[key] for key in ("call_id", *more) if self._is_named and known[key]}


class Client:
    """The response, its items, and its sequence numbers."""

    def __init__(self) -> None:
        self.created: dict[str, Json] | None = None
        """The response in `response.created`."""
        self.ended = False
        self.calls_by_place: dict[int, OpenCall | None] = {}
        """By `output_index` of each item: its call, if the client runs it."""
        self.closed: dict[int, Json] = {}
        """The closed items by `output_index`."""
        self.open_text: set[Json] = set()
        self.open_others: set[Json] = set()
        """The `output_index` of open messages and reasoning items, and of other open items without calls."""
        self.others_moved: dict[int, int] = {}
        """By received `output_index` of these items: another one that was sent."""
        self.last_place = -1
        self.moved: dict[int, Defect] = {}
        """By `output_index`: the defect for which the client has another item than the provider sent."""
        self.number: int | None = None
        """The sequence number of the last event; `None` in a stream without sequence numbers."""
        self.renumbers = False
        """Whether its sequence numbers differ from the provider's."""

    @property
    def free(self) -> int:
        """The next free `output_index`."""
        return self.last_place + 1

    def renumber(self) -> None:
        """Note that sequence numbers, if there are any, differ from the provider's from now on."""
        self.renumbers = self.number is not None

    @property
    def output(self) -> list[Json]:
        """The closed items, in order."""
        return [self.closed[place] for place in sorted(self.closed)]

    def take_place(self, place: int, call: OpenCall | None = None) -> None:
        """Note the `output_index` of an item; `call`: its call."""
        self.calls_by_place[place] = call
        self.last_place = max(self.last_place, place)

    def take_other(self, payload: dict[str, Json], *, closes: bool) -> None:
        """Note that a message, reasoning or other item is added or closed."""
        place = json_access.integer(payload.get("output_index"))
        kind = json_access.get(payload, "item", "type")
        opened = self.open_text if kind in ("message", "reasoning") else self.open_others
        key = place if isinstance(place, int) else None
        opened.discard(key) if closes else opened.add(key)
        if isinstance(place, int):
            self.take_place(place)
            if closes:
                self.closed.setdefault(place, payload.get("item"))

    def other_at_its_place(self, payload: dict[str, Json], *, closes: bool) -> dict[str, Json]:
        """An event of another item, with the `output_index` that was sent for it."""
        place = json_access.integer(payload.get("output_index"))
        if not isinstance(place, int) or place not in self.others_moved:
            return payload
        moved = self.others_moved.pop(place) if closes else self.others_moved[place]
        return {**payload, "output_index": moved}

    def take_quiet(self, raw: bytes, end: int) -> None:
        """Note the sequence number of skipped events without calls."""
        if found := _NUMBER.match(raw, raw.rfind(_NUMBER_KEY, 0, end)):
            self.number = int(found[1])
