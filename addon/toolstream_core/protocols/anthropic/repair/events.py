"""What one event of a Messages stream says of its content block. Keeps nothing from event to event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.anthropic.resolver import NOBODYS
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Event, Json

NAMED: Final = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
    }
)
"""The types of events that the API documents; each has an event line of that name."""

type Payload = dict[str, Json]


def type_of(event: Event) -> str:
    """The type of an event: its payload's, or else its event line; empty where that is not a string."""
    payload = event.frame.json
    kind = payload.get("type", event.frame.name) if isinstance(payload, dict) else event.frame.name
    return kind if isinstance(kind, str) else ""


def index_of(payload: Payload) -> int | None:
    """The index of a block on the wire: a number, or one written as a string; `None` for everything else."""
    number = payload.get("index")
    if type(number) is not int:
        number = json_access.integer(number)
    return number if isinstance(number, int) else None


def set_apart(payload: Payload) -> Payload:
    """An event of a block that was never started, under an index that no block gets."""
    index = index_of(payload)
    if index is None or index < 0:
        return {**payload, "index": 2 * NOBODYS - (index or 0)}
    return payload if index >= NOBODYS else {**payload, "index": NOBODYS + index}


def is_text(payload: Payload) -> bool:
    """Whether an event is a delta of text."""
    delta = payload.get("delta")
    return isinstance(delta, dict) and delta.get("type") == "text_delta" and isinstance(delta.get("text"), str)


def says_text(payload: Payload) -> bool:
    """Whether an event is a delta of text or of thinking, or starts a block with text."""
    said = payload.get("delta", payload.get("content_block"))
    return isinstance(said, dict) and bool(said.get("text") or said.get("thinking"))


def arguments_of(payload: Payload) -> Json:
    """The `partial_json` of a delta; `ABSENT` where there is none."""
    return json_access.get(payload, "delta", "partial_json")


def adds(content: Payload, payload: Payload) -> bool:
    """Whether a repeated start says anything that the first one, with `content`, did not."""
    again = payload.get("content_block")
    if not isinstance(again, dict):
        return True
    other = {key: value for key, value in again.items() if value != content.get(key)}
    return bool(other.keys() - {"input"}) or other.get("input") not in (None, "", {})
