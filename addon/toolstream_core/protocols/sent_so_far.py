"""A response on a socket that toolstream serves, as far as the client has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.unstreamed_parts import dictionary
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Json


class SentSoFar:
    """What the client has of a response object, by the events that were forwarded."""

    def __init__(self) -> None:
        self.response: dict[str, Json] = {}
        """The object as the first event has it."""
        self.output: list[Json] = []
        """The complete items."""
        self.number = -1
        """Of the last event, where events are numbered."""
        self.ended = False
        """Whether its last event went."""

    @property
    def id(self) -> Json:
        """Of the response; `None` where nothing went yet."""
        return self.response.get("id")

    def take(self, event: Json, *, ends: bool) -> None:
        """The next event went."""
        self.ended = self.ended or ends
        number = json_access.integer(json_access.get(event, "sequence_number"))
        if isinstance(number, int):
            self.number = number
        if not self.response:
            self.response = dictionary(json_access.get(event, "response"))
        if json_access.get(event, "type") == "response.output_item.done":
            self.output.append(json_access.get(event, "item"))

    def cancelled(self, token: str) -> dict[str, Json]:
        """The response as it is where it stops now; `token` makes its id where nothing went yet."""
        return {"id": f"resp_{token}", **self.response, "status": "cancelled", "output": [*self.output]}
