"""Calls of custom tools that come as function calls: their free text is taken out of the JSON around it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.defects.identity import CUSTOM_AS_FUNCTION
from toolstream_core.model import ABSENT
from toolstream_core.protocols.requests.tools import custom_tools
from toolstream_core.protocols.responses.repair.event_types import CLOSED
from toolstream_core.protocols.responses.repair.item_start import Start
from toolstream_core.stages.converted_items import Custom
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.client_item import ClientItem
    from toolstream_core.protocols.responses.repair.kept_items import KeptItems
    from toolstream_core.protocols.responses.repair.state import RepairState
    from toolstream_core.wire.frame import Frame

# A custom tool takes free text and has no parameters. A model or gateway that calls it as a function invents one key
# for the text, most often `input` or `patch`. With several keys, none, or another value than text, nothing tells which
# is the text, and the call goes on as it came.

_DELTA, _DONE = "response.custom_tool_call_input.delta", "response.custom_tool_call_input.done"


def unwrapped(arguments: str) -> str | None:
    """The text in the arguments of a call of a tool that takes text; `None` where it is not certain."""
    value = parse(arguments.encode("utf-8", "replace"))
    if isinstance(value, dict):
        values = list(value.values())
        return values[0] if len(values) == 1 and isinstance(values[0], str) else None
    if value is ABSENT and arguments and not arguments.lstrip(WHITE).startswith(("{", "[", '"')):
        return arguments
    return value if isinstance(value, str) else None


def as_custom(item: dict[str, Json], text: str) -> dict[str, Json]:
    """The item of a function call as one of a custom tool's call."""
    kept = {key: value for key, value in item.items() if key not in {"type", "arguments"}}
    return {"type": "custom_tool_call", **kept, "input": text}


class CustomTools:
    """The calls of custom tools in one answer."""

    def __init__(self, state: RepairState, kept: KeptItems) -> None:
        """For one stream."""
        self._state = state
        self._kept = kept

    @cached_property
    def _names(self) -> frozenset[str]:
        return custom_tools(self._state.context.exchange.request)

    def __contains__(self, name: str) -> bool:
        """Whether the request offers a custom tool of this name."""
        return name in self._names

    def _is_converted(self, item: ClientItem) -> bool:
        """Judge a function call; whether it is to be sent as a custom tool's call."""
        message = f"{item.call.name} is a custom tool, and its call comes as a function call"
        return item.call.name in self._names and self._state.report(CUSTOM_AS_FUNCTION, message, item.call)

    def keeps_start(self, item: ClientItem, frame: Frame) -> bool:
        """Whether the event that adds an item is kept, because its whole call is to be converted."""
        if item.kept.frames or not self._is_converted(item) or item.start not in {Start.NEW, Start.DROPPED}:
            return False
        item.start = Start.CUSTOM
        self._kept.keep(item, frame, CUSTOM_AS_FUNCTION)
        return True

    def take(self, frame: Frame, payload: dict[str, Json], kind: str, item: ClientItem) -> dict[str, Json] | None:
        """An event of a call that is to be converted: kept until the call is closed, and replaced then."""
        content = payload.get("item")
        if kind != CLOSED or not isinstance(content, dict):
            self._kept.keep(item, frame, CUSTOM_AS_FUNCTION)
        elif content.get("status") == "incomplete" or not self._put(item, content):
            self._kept.give_back(item)
            return payload
        return None

    def put_call(self, item: ClientItem, content: Json) -> None:
        """Put all events of a whole call of which the client knows nothing, given its item; converted if need be."""
        converted = self._is_converted(item)
        if not (converted and isinstance(content, dict) and self._put(item, content)):
            item.put_whole(content)

    def _put(self, item: ClientItem, content: dict[str, Json]) -> bool:
        """Put a whole call as its tool takes it, given its item; whether its text is certain."""
        arguments = json_access.text(content.get("arguments"))
        text = unwrapped(arguments) if isinstance(arguments, str) else None
        if text is None:
            return False
        state = self._state
        state.replaced.append(item.kept)
        added = item.start_new(content)
        response = json_access.text(state.created.get("id"))
        custom = Custom(item.call_id, item.name, text, response if isinstance(response, str) else "")
        state.context.ids.sent_as_custom(custom, str(arguments))
        place: dict[str, Json] = {"item_id": item.id, "output_index": item.place}
        begun = {**as_custom(added, ""), "status": "in_progress"}
        closed = as_custom(added, text)
        state.output.put({"type": "response.output_item.added", "output_index": item.place, "item": begun})
        state.output.put({"type": _DELTA, **place, "delta": text})
        state.output.put({"type": _DONE, **place, "input": text})
        state.output.put({"type": "response.output_item.done", "output_index": item.place, "item": closed})
        state.places.closed[item.place] = item.custom = closed
        item.done = item.closed = True
        return True
