"""Converts function calls of custom tools into custom tool calls."""

from __future__ import annotations

from toolstream_core.calls.scanner import WHITE
from toolstream_core.defects.identity import CUSTOM_AS_FUNCTION
from toolstream_core.model import ABSENT, Json, Kind
from toolstream_core.protocols.responses.repair.difference import Difference
from toolstream_core.protocols.responses.repair.intended import IntendedCall
from toolstream_core.protocols.responses.repair.stream import Stream
from toolstream_core.stages.response_ids import Custom
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse

# A custom tool takes free text and has no parameters. A model or gateway that calls it as a function invents one key
# for the text, most often `input` or `patch`. With several keys, none, or another value than text, the text is
# unknown, and the call is forwarded unchanged.


def unwrapped(arguments: str) -> str | None:
    """The free text in the arguments of a custom tool's call; `None` if it is not certain."""
    value = parse(arguments.encode("utf-8", "replace"))
    if isinstance(value, dict):
        values = list(value.values())
        return values[0] if len(values) == 1 and isinstance(values[0], str) else None
    if value is ABSENT and arguments and not arguments.lstrip(WHITE).startswith(("{", "[", '"')):
        return arguments
    return value if isinstance(value, str) else None


class CustomTools:
    """Converts the calls of one stream, when they are complete."""

    def __init__(self, stream: Stream, items: Difference) -> None:
        self._stream, self._items = stream, items

    def converts(self, intended: IntendedCall) -> bool:
        """Report a function call of a custom tool. Returns whether it is, or may be, converted."""
        name = intended.call.name
        message = f"{name} is a custom tool, and its call comes as a function call"
        if intended.call.kind is Kind.CUSTOM or name not in self._stream.calls.custom_tools:
            return False
        if intended.sent is not None or intended.passes:
            return False
        if not self._stream.report(CUSTOM_AS_FUNCTION, message, intended.call):
            return False
        return not intended.call.ended or self._text(intended) is not None

    def _text(self, intended: IntendedCall) -> str | None:
        return None if intended.call.cut else unwrapped(intended.call.arguments.text())

    def put(self, intended: IntendedCall, item: Json) -> bool:
        """Send a complete call as a custom tool call, given its item; `False` if its text is not certain."""
        if not self.converts(intended) or (text := self._text(intended)) is None:
            return False
        stream = self._stream
        arguments = intended.call.arguments.text()
        sent = self._items.adopt(intended, item, CUSTOM_AS_FUNCTION)
        response = json_access.text((stream.client.created or {}).get("id"))
        custom = Custom(sent.call_id, sent.name, text, response if isinstance(response, str) else "")
        stream.context.ids.sent_as_custom(custom, arguments)
        sent.is_custom = sent.done = True
        closing = sent.closing(text)
        for event in (sent.adding(), sent.delta(text), sent.arguments_done(text), closing):
            stream.put(event, intended.call)
        self._items.closes(intended, closing["item"], arguments)
        return True
