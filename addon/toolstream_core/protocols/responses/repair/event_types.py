"""Types of Responses events, and the one that opens a stream where it is missing."""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, Final

from toolstream_core.model import ABSENT

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.wire.frame import Frame

CREATED: Final = "response.created"
ADDED: Final = "response.output_item.added"
DELTA: Final = "response.function_call_arguments.delta"
DONE: Final = "response.function_call_arguments.done"
CLOSED: Final = "response.output_item.done"
COMPLETED: Final = "response.completed"
REALTIME_DONE: Final = "response.done"
"""The Realtime API's word for the end, whatever it is."""
TERMINAL: Final = frozenset({COMPLETED, "response.incomplete", "response.failed", "response.cancelled"})

_COMPLETES = re.compile(
    rb"""(?:event:\ ?response\.completed\s|(?:event:[^\r\n]*\s+)?data:\ ?\{\s*"type"\s*:\s*"response\.completed")""",
    re.VERBOSE,
)
_STATUS = frozenset({"response.queued", "response.in_progress"})
_NO_USAGE: Final[dict[str, Json]] = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}


def terminal_type(payload: dict[str, Json]) -> str:
    """What the end of a response is called here, by its status."""
    response = payload.get("response")
    kind = f"response.{response.get('status') if isinstance(response, dict) else ''}"
    return kind if kind in TERMINAL else COMPLETED


class Tail(enum.Enum):
    """What a body's last bytes are, behind the last event that is over."""

    NONE = enum.auto()
    COMMENT = enum.auto()
    EVENT = enum.auto()
    """An event that was cut off: whatever stood in it, and behind it, is lost."""
    TERMINAL = enum.auto()
    """The event that completes the response, cut off: everything was said."""


def tail_of(frame: Frame) -> Tail:
    """What a frame is, as the last one of a body. What is put behind a cut one becomes a part of it."""
    raw = frame.raw.strip()
    if not frame.trailing or not raw:
        return Tail.NONE
    if all(line.startswith(b":") for line in raw.splitlines() if line):
        return Tail.COMMENT
    return Tail.TERMINAL if _COMPLETES.match(raw) and frame.json is ABSENT else Tail.EVENT


def is_resumed(path: str, payload: dict[str, Json], kind: str) -> bool:
    """Whether a stream that begins with this event goes on with one whose begin went over another connection.

    `GET /responses/{id}?stream=true&starting_after=N`: what came up to event N, this client has. Numbers begin at 0, so
    that 1 is behind the start where it tells the response's status; some begin at 1 with the first item.
    """
    number = payload.get("sequence_number")
    if "starting_after=" in path:
        return True
    return isinstance(number, int) and number >= 1 and kind != CREATED and (number > 1 or kind in _STATUS)


def missing_head(payload: dict[str, Json], kind: str) -> dict[str, Json] | None:
    """The response as it should have been created, where a stream begins with this event; `None` where all is well.

    Only an event that has the response tells its id, which clients compare with the last event's, and send back.
    """
    told = payload if kind in TERMINAL and is_bare(payload) else payload.get("response")
    if kind == CREATED or not isinstance(told, dict) or not told.get("id") or not kind.startswith("response."):
        return None
    left_out = ("usage", "type", "sequence_number")
    return {**{key: value for key, value in told.items() if key not in left_out}, "status": "in_progress", "output": []}


def usage_of(*responses: dict[str, Json]) -> dict[str, Json]:
    """The last usage that any of these says, or none in numbers: readers count on them."""
    said = [usage for response in responses if isinstance(usage := response.get("usage"), dict)]
    return said[-1] if said else _NO_USAGE


def is_bare(payload: dict[str, Json]) -> bool:
    """Whether a terminal event is the response itself, without the envelope (sap-ai-core-llm-proxy#35)."""
    return "response" not in payload and (payload.get("object") == "response" or "output" in payload)
