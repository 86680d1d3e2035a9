"""Converts text to Chat Completions calls, before the event with the finish reason."""

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
    choices = [
        {**each, "finish_reason": "tool_calls"} if json_access.get(each, "finish_reason") == "stop" else each
        for each in json_access.items(payload.get("choices"))
    ]
    return [*said(one), one.finished({**payload, "choices": choices})]


def said(one: Promotion) -> list[Frame]:
    """The frames with only the calls."""
    payload: Payload = one.event.frame.json  # type: ignore[assignment] # a fragment or finish was read from it
    out: list[Frame] = []
    for at, (identity, wanted) in enumerate(one.calls):
        function = {"name": wanted.name, "arguments": wanted.arguments}
        entry = {"index": one.place + at, "id": identity, "type": "function", "function": function}
        out.append(one.writer.make(entry_chunk(payload, one.choice, entry), one.event.frame.number))
    return out
