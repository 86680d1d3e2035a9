"""Calls of custom tools that come as function calls: their free text is taken out of the JSON around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.defects.identity import CUSTOM_AS_FUNCTION
from toolstream_core.model import ABSENT
from toolstream_core.protocols.responses.repair.event_types import ADDED, CLOSED
from toolstream_core.stages.converted_items import Custom
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.answer import Answer
    from toolstream_core.protocols.responses.repair.difference import Difference
    from toolstream_core.protocols.responses.repair.truth import Meant
    from toolstream_core.repair.fields import Payload

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


def as_custom(item: Payload, text: str) -> Payload:
    """The item of a function call as one of a custom tool's call."""
    kept = {key: value for key, value in item.items() if key not in {"type", "arguments"}}
    return {"type": "custom_tool_call", **kept, "input": text}


class CustomTools:
    """The calls of custom tools in one answer: what is meant of one is sure when it is over."""

    def __init__(self, answer: Answer, items: Difference) -> None:
        """For one stream."""
        self._answer, self._items = answer, items

    def converts(self, meant: Meant) -> bool:
        """Judge a function call; whether it is to be said as a custom tool's call, as far as is known."""
        name = meant.call.name
        message = f"{name} is a custom tool, and its call comes as a function call"
        if name not in self._answer.truth.custom_tools or meant.has is not None or meant.passes:
            return False
        if not self._answer.report(CUSTOM_AS_FUNCTION, message, meant.call):
            return False
        return not meant.call.over or self._text(meant) is not None

    def _text(self, meant: Meant) -> str | None:
        return None if meant.call.cut else unwrapped(meant.call.arguments.text())

    def put(self, meant: Meant, item: Json) -> bool:
        """Say a whole call as its tool takes it, given its item; whether its text is certain."""
        if not self.converts(meant) or (text := self._text(meant)) is None:
            return False
        answer = self._answer
        arguments = meant.call.arguments.text()
        has = self._items.identities.adopt(meant, item, CUSTOM_AS_FUNCTION)
        response = json_access.text((answer.client.created or {}).get("id"))
        custom = Custom(has.call_id, has.name, text, response if isinstance(response, str) else "")
        answer.context.ids.sent_as_custom(custom, arguments)
        place: Payload = {"item_id": has.id, "output_index": has.place}
        known: Payload = {**has.content, "id": has.id, "call_id": has.call_id, "name": has.name}
        closed = {**as_custom(known, text), "status": "completed"} if "status" in known else as_custom(known, text)
        begun = {**as_custom(known, ""), "status": "in_progress"}
        answer.put({"type": ADDED, "output_index": has.place, "item": begun})
        answer.put({"type": _DELTA, **place, "delta": text})
        answer.put({"type": _DONE, **place, "input": text})
        answer.put({"type": CLOSED, "output_index": has.place, "item": closed})
        has.said = True
        self._items.closes(meant, closed, arguments)
        return True
