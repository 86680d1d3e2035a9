"""Calls of custom tools: input that no delta has, and calls that come as function calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.calls.scanner import WHITE
from toolstream_core.defects.arguments import MISSING_DELTAS, SHORT_DELTAS
from toolstream_core.defects.identity import CUSTOM_AS_FUNCTION
from toolstream_core.model import ABSENT, Kind, Phase
from toolstream_core.protocols.responses.repair.events import CLOSED
from toolstream_core.protocols.responses.responses import item_events
from toolstream_core.stages.response_ids import Custom
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.calls.arguments import ArgumentText
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.difference import Difference
    from toolstream_core.protocols.responses.repair.intended import IntendedCall
    from toolstream_core.protocols.responses.repair.stream import Stream
    from toolstream_core.repair.fields import Payload

# A custom tool takes free text and has no parameters. A model or gateway that calls it as a function invents one key
# for the text, most often `input` or `patch`. With several keys, none, or another value than text, nothing tells which
# is the text, and the call is forwarded unchanged.


def unwrapped(arguments: str) -> str | None:
    """The free text in the arguments of a custom tool's call; `None` if it is not certain."""
    value = parse(arguments.encode("utf-8", "replace"))
    if isinstance(value, dict):
        values = list(value.values())
        return values[0] if len(values) == 1 and isinstance(values[0], str) else None
    if value is ABSENT and arguments and not arguments.lstrip(WHITE).startswith(("{", "[", '"')):
        return arguments
    return value if isinstance(value, str) else None


def as_custom(item: Payload, text: str) -> Payload:
    """The item of a function call as the item of a custom tool call."""
    kept = {key: value for key, value in item.items() if key not in {"type", "arguments"}}
    return {"type": "custom_tool_call", **kept, "input": text}


_INPUT: Final = "response.custom_tool_call_input"


class CustomTools:
    """The calls of custom tools in one stream. The text is certain when the call is complete."""

    def __init__(self, stream: Stream, items: Difference) -> None:
        self._stream, self._items = stream, items
        self._given: dict[int, tuple[ArgumentText, int]] = {}
        """By added call: the text that begins with its deltas, and how many characters these are."""

    def lacking(self, resolved: Sequence[ResolvedFragment]) -> str:
        """The rest of the input, if an event has all of it and the deltas before had only the beginning."""
        if len(resolved) != 1 or resolved[0].call.kind is not Kind.CUSTOM:
            return ""
        fragment, call = resolved[0]
        text, begun = fragment.arguments, id(call) in self._given
        if fragment.phase is Phase.MORE or fragment.phase is Phase.OPEN:
            if begun or fragment.type == "custom_tool_call":
                self._given[id(call)] = call.arguments, call.arguments.size
        elif begun and isinstance(text, str) and fragment.well_formed:
            source, size = self._given.pop(id(call))
            return text[size:] if text.startswith(source.text()[:size]) and not source.truncated else ""
        return ""

    def put_lacking(self, rest: str, received: Payload, call: OpenCall) -> None:
        """Send the rest of the input before the event that has all of it."""
        item = received.get("item")
        whole = json_access.get(item, "input") if isinstance(item, dict) else received.get("input")
        defect = MISSING_DELTAS if rest == whole else SHORT_DELTAS
        if not self._stream.report(defect, defect.meaning, call):
            return
        where = {"item_id": received.get("item_id", json_access.get(item, "id"))}
        where |= {key: received[key] for key in ("output_index",) if key in received}
        self._stream.put({"type": f"{_INPUT}.delta", **where, "delta": rest}, call)
        if received.get("type") == CLOSED:
            self._stream.put({"type": f"{_INPUT}.done", **where, "input": whole}, call)

    def converts(self, intended: IntendedCall) -> bool:
        """Report a function call of a custom tool; whether it is sent as a custom tool call, as far as is known."""
        name = intended.call.name
        message = f"{name} is a custom tool, and its call comes as a function call"
        if name not in self._stream.calls.custom_tools or intended.has is not None or intended.passes:
            return False
        if not self._stream.report(CUSTOM_AS_FUNCTION, message, intended.call):
            return False
        return not intended.call.over or self._text(intended) is not None

    def _text(self, intended: IntendedCall) -> str | None:
        return None if intended.call.cut else unwrapped(intended.call.arguments.text())

    def put(self, intended: IntendedCall, item: Json) -> bool:
        """Send a complete call as a custom tool call, given its item; `False` if its text is not certain."""
        if not self.converts(intended) or (text := self._text(intended)) is None:
            return False
        stream = self._stream
        arguments = intended.call.arguments.text()
        has = self._items.adopt(intended, item, CUSTOM_AS_FUNCTION)
        response = json_access.text((stream.client.created or {}).get("id"))
        custom = Custom(has.call_id, has.name, text, response if isinstance(response, str) else "")
        stream.context.ids.sent_as_custom(custom, arguments)
        known: Payload = {**has.content, "id": has.id, "call_id": has.call_id, "name": has.name}
        closed = as_custom(known, text) | ({"status": "completed"} if "status" in known else {})
        has.done = has.is_custom = True
        for event in item_events(closed, has.place):
            stream.put(event, intended.call)
        self._items.closes(intended, closed, arguments)
        return True
