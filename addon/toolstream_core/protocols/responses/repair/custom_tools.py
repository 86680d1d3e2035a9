"""Calls of custom tools that come as function calls: their free text, taken out of the JSON around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.identity import CUSTOM_AS_FUNCTION
from toolstream_core.model import ABSENT
from toolstream_core.protocols.requests.tools import custom_tools
from toolstream_core.protocols.responses.repair.event_types import CLOSED
from toolstream_core.stages.converted_items import Custom
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.client_item import Item
    from toolstream_core.protocols.responses.repair.item_sequence import ItemRepairer
    from toolstream_core.wire.frame import Frame

# A custom tool takes text of any form, and has no parameters: the one key under which the text stands is the model's
# or the gateway's invention, `input` or `patch` most often. Where there are more keys, or none, or a number, nobody
# knows which is the text.

_DELTA, _DONE = "response.custom_tool_call_input.delta", "response.custom_tool_call_input.done"


def unwrapped(arguments: str) -> str | None:
    """The text that arguments hold for a tool that takes text; `None` where that is not plain."""
    value = parse(arguments.encode("utf-8", "replace"))
    if isinstance(value, dict):
        said = list(value.values())
        return said[0] if len(said) == 1 and isinstance(said[0], str) else None
    if value is ABSENT and arguments and not arguments.lstrip().startswith(("{", "[", '"')):
        return arguments
    return value if isinstance(value, str) else None


def as_custom(item: dict[str, Json], text: str) -> dict[str, Json]:
    """A function call's item as a custom tool's."""
    kept = {key: value for key, value in item.items() if key not in {"type", "arguments"}}
    return {"type": "custom_tool_call", **kept, "input": text}


class CustomTools:
    """The custom tools of one request."""

    def __init__(self, repairer: ItemRepairer) -> None:
        """For one stream."""
        self._repairer = repairer
        self._names: frozenset[str] | None = None

    def __contains__(self, name: str) -> bool:
        """Whether a tool of this name was offered, and takes text."""
        if self._names is None:
            self._names = custom_tools(self._repairer.context.exchange.request)
        return name in self._names

    def wraps(self, item: Item) -> bool:
        """Judge a function call of a tool that takes text; whether it is to be said otherwise."""
        repairer = self._repairer
        message = f"{item.call.name} is a custom tool, and its call comes as a function call"
        item.wrapped = repairer.report(CUSTOM_AS_FUNCTION, repairer.number, message, item.call)
        return item.wrapped

    def take(self, frame: Frame, payload: dict[str, Json], kind: str, item: Item) -> dict[str, Json] | None:
        """What goes on for an event of a call that is to be said otherwise: it waits until the call is closed."""
        content = payload.get("item")
        if kind != CLOSED or not isinstance(content, dict):
            self._repairer.keep(item, frame, CUSTOM_AS_FUNCTION)
        elif content.get("status") == "incomplete" or not self.say(item, content):
            self._repairer.give_back(item)
            return payload
        return None

    def say(self, item: Item, content: dict[str, Json]) -> bool:
        """Say a whole call in new events as its tool takes it, given its item; whether that could be done."""
        arguments = json_access.text(content.get("arguments"))
        text = unwrapped(arguments) if isinstance(arguments, str) else None
        if text is None:
            return False
        repairer = self._repairer
        repairer.spoken(item)
        said = item.taken_over(content)
        response = json_access.text(repairer.created.get("id"))
        told = Custom(item.call_id, item.name, text, response if isinstance(response, str) else "")
        repairer.context.ids.told_as_custom(told, str(arguments))
        place: dict[str, Json] = {"item_id": item.id, "output_index": item.place}
        begun = {**as_custom(said, ""), "status": "in_progress"}
        closed = as_custom(said, text)
        repairer.put({"type": "response.output_item.added", "output_index": item.place, "item": begun})
        repairer.put({"type": _DELTA, **place, "delta": text})
        repairer.put({"type": _DONE, **place, "input": text})
        repairer.put({"type": "response.output_item.done", "output_index": item.place, "item": closed})
        repairer.places.closed[item.place] = item.custom = closed
        item.done = item.closed = True
        return True
