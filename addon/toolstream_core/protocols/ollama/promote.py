"""Makes Ollama calls of what was text, before the event that says the finish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.wire import numbers

if TYPE_CHECKING:
    from toolstream_core.stages.promotion import Payload, Promotion
    from toolstream_core.wire.frame import Frame


def promoted(one: Promotion) -> list[Frame]:
    """As `WireProtocol.promoted`."""
    payload: Payload = one.event.frame.json  # type: ignore[assignment] # a finish was read from it
    calls = [
        {"function": {"name": leaked.name, "arguments": numbers.loads(leaked.arguments)}} for _, leaked in one.calls
    ]
    message = {"role": "assistant", "content": "", "tool_calls": calls}
    line = {"model": payload.get("model"), "message": message, "done": False}
    return [one.writer.make(line, one.event.frame.number), one.event.frame]
