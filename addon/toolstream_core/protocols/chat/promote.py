"""Makes Chat Completions calls of what was text, before the event that says the finish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.chat.edit import entry_chunk
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.stages.promotion import Payload, Promotion
    from toolstream_core.wire.frame import Frame


def promoted(one: Promotion) -> list[Frame]:
    """As `WireProtocol.promoted`."""
    payload: Payload = one.event.frame.json  # type: ignore[assignment] # a finish was read from it
    choice = one.event.content.finishes[0].choice
    number = one.event.frame.number
    out: list[Frame] = []
    for at, (identity, leaked) in enumerate(one.calls):
        function = {"name": leaked.name, "arguments": leaked.arguments}
        entry = {"index": one.place + at, "id": identity, "type": "function", "function": function}
        out.append(one.writer.make(entry_chunk(payload, choice, entry), number))
    choices = [
        {**each, "finish_reason": "tool_calls"} if json_access.get(each, "finish_reason") == "stop" else each
        for each in json_access.items(payload.get("choices"))
    ]
    return [*out, one.finished({**payload, "choices": choices})]
