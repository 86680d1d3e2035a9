"""Makes Gemini calls of what was text, before the event that says the finish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.wire import json_access, numbers

if TYPE_CHECKING:
    from toolstream_core.stages.promotion import Payload, Promotion
    from toolstream_core.wire.frame import Frame


def promoted(one: Promotion) -> list[Frame]:
    """As `WireProtocol.promoted`."""
    payload: Payload = one.event.frame.json  # type: ignore[assignment] # a finish was read from it
    parts = [
        {"functionCall": {"name": leaked.name, "args": numbers.loads(leaked.arguments)}} for _, leaked in one.calls
    ]
    candidates = json_access.items(payload.get("candidates"))
    first = candidates[0] if candidates and isinstance(candidates[0], dict) else {}
    given = first.get("content")
    content = given if isinstance(given, dict) else {"role": "model"}
    candidate = {
        **first,
        "content": {**content, "parts": [*json_access.items(json_access.get(content, "parts")), *parts]},
    }
    return [one.writer.rewrite(one.event.frame, {**payload, "candidates": [candidate, *candidates[1:]]})]
