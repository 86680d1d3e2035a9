"""The client: what a reader of Responses has that keeps to the letter. Nothing here decides what it is sent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolstream_core.repair.client_text import ClientText
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.calls.arguments import ArgumentText
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json

_NUMBER_KEY: Final = b'"sequence_number"'
_NUMBER: Final = re.compile(_NUMBER_KEY + rb"\s*:\s*([0-9]{1,18})")


class ClientItem:
    """One function call, as the client has it from the event that adds it on."""

    __slots__ = ("call_id", "closed", "content", "id", "name", "place", "said", "text", "whole", "why")

    def __init__(self, letter: ArgumentText, place: int, item_id: str, call_id: str, name: str) -> None:
        """Added, and nothing more."""
        self.place, self.id, self.call_id, self.name = place, item_id, call_id, name
        self.text = ClientText(letter)
        """Its arguments, joined of the deltas."""
        self.said = self.closed = False
        """Whether an event said its arguments whole; whether one closed it."""
        self.whole = ""
        """The arguments as an event said them whole last."""
        self.content: dict[str, Json] = {}
        """The item as it was sent last."""
        self.why: dict[str, Row] = {}
        """By key: the defect for which the client has another value than the provider."""


class Client:
    """The response, its items by their place, and the counter of events."""

    def __init__(self) -> None:
        """Nothing came."""
        self.created: dict[str, Json] | None = None
        """The response as `response.created` had it."""
        self.ended = False
        self.taken: set[int] = set()
        """Places of items."""
        self.closed: dict[int, Json] = {}
        """The items that were closed, by place."""
        self.open_text: set[Json] = set()
        self.open_others: set[Json] = set()
        """Places of open messages and reasonings, and of what else is no function call."""
        self.last_place = -1
        self.moved: dict[int, Row] = {}
        """Places at which the client has another item than the provider, and why."""
        self._instead: dict[int, int] = {}
        self.number: int | None = None
        """The sequence number of the last event; `None` in a stream without them."""

    @property
    def free(self) -> int:
        """The next place."""
        return self.last_place + 1

    @property
    def output(self) -> list[Json]:
        """The items that were closed, in order."""
        return [self.closed[place] for place in sorted(self.closed)]

    def take_place(self, place: int) -> None:
        """An item has a place."""
        self.taken.add(place)
        self.last_place = max(self.last_place, place)

    def instead_of(self, place: int) -> int:
        """A place that no item has, for what comes under one that is another's to the client."""
        if place not in self._instead:
            self._instead[place] = self.free
            self.take_place(self.free)
        return self._instead[place]

    def take_other(self, payload: dict[str, Json], *, closes: bool) -> None:
        """An item that is no function call is added or closed."""
        place = json_access.integer(payload.get("output_index"))
        kind = json_access.get(payload, "item", "type")
        opened = self.open_text if kind in ("message", "reasoning") else self.open_others
        key = place if isinstance(place, int) else None
        opened.discard(key) if closes else opened.add(key)
        if isinstance(place, int):
            self.take_place(place)
            if closes:
                self.closed.setdefault(place, payload.get("item"))

    def take_quiet(self, raw: bytes, end: int) -> None:
        """Events passed that say nothing of calls."""
        if found := _NUMBER.match(raw, raw.rfind(_NUMBER_KEY, 0, end)):
            self.number = int(found[1])
