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
"""The terminal event of the Realtime API, whatever the response's status."""
TERMINAL: Final = frozenset({COMPLETED, "response.incomplete", "response.failed", "response.cancelled"})
OF_EVENT: Final = frozenset({"type", "sequence_number", "event_id", "response_id"})
"""Keys of an event that the response within it does not have; the last two are of the Realtime API."""

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


def event_type(frame: Frame) -> str:
    """The type of an event; `""` for one that is not a JSON object."""
    payload = frame.json
    return str(payload.get("type", frame.name)) if isinstance(payload, dict) else ""


def terminal_types(payload: dict[str, Json], kind: str, completed: str) -> tuple[str | None, str]:
    """What a terminal event is called by its own API where it came as another's, and what it means to Responses.

    `completed` is the type that the API has for a completed response: Realtime has it for every status.
    """
    meant = _by_status(payload) if kind == REALTIME_DONE else kind
    if completed == REALTIME_DONE:
        return None if kind == REALTIME_DONE else REALTIME_DONE, meant
    return meant if kind == REALTIME_DONE else None, meant


def _by_status(payload: dict[str, Json]) -> str:
    response = payload.get("response")
    kind = f"response.{response.get('status') if isinstance(response, dict) else ''}"
    return kind if kind in TERMINAL else COMPLETED


class Tail(enum.Enum):
    """What a body's last bytes are, behind the last whole event."""

    NONE = enum.auto()
    COMMENT = enum.auto()
    EVENT = enum.auto()
    """An event that was cut off: its content is lost, and whatever followed."""
    TERMINAL = enum.auto()
    """`response.completed`, cut off: every call came before it."""


def tail_of(frame: Frame) -> Tail:
    """What the last frame of a body is. Anything sent behind a cut event would become a part of it."""
    raw = frame.raw.strip()
    if not frame.trailing or not raw:
        return Tail.NONE
    if all(line.startswith(b":") for line in raw.splitlines() if line):
        return Tail.COMMENT
    return Tail.TERMINAL if _COMPLETES.match(raw) and frame.json is ABSENT else Tail.EVENT


def is_resumed(path: str, payload: dict[str, Json], kind: str) -> bool:
    """Whether a stream that begins with this event continues one that began over another connection.

    With `GET /responses/{id}?stream=true&starting_after=N` the client has the events up to N. Numbers begin at 0, so an
    event with number 1 that has the response's status is not the first; some providers begin at 1 with the first item.
    """
    number = payload.get("sequence_number")
    if "starting_after=" in path:
        return True
    return isinstance(number, int) and number >= 1 and kind != CREATED and (number > 1 or kind in _STATUS)


def missing_head(payload: dict[str, Json], kind: str) -> dict[str, Json] | None:
    """The response for the `response.created` that a stream beginning with this event lacks; `None` if it lacks none.

    It is made only from an event with the response: that has its id, which clients compare and send back.
    """
    response = payload if kind in TERMINAL and is_bare(payload) else payload.get("response")
    if kind == CREATED or not isinstance(response, dict) or not response.get("id") or not kind.startswith("response."):
        return None
    kept = {key: value for key, value in response.items() if key not in {"usage", *OF_EVENT}}
    return {**kept, "status": "in_progress", "output": []}


def usage_of(*responses: dict[str, Json]) -> dict[str, Json]:
    """The last usage in any of these responses; zeros if there is none, because clients read the numbers."""
    usages = [usage for response in responses if isinstance(usage := response.get("usage"), dict)]
    return usages[-1] if usages else _NO_USAGE


def is_bare(payload: dict[str, Json]) -> bool:
    """Whether a terminal event is the response itself, without the envelope (sap-ai-core-llm-proxy#35)."""
    return "response" not in payload and (payload.get("object") == "response" or "output" in payload)
