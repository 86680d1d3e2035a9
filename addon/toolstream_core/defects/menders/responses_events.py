"""Types of Responses events, and the one that opens a stream where it is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolstream_core.model import Json

CREATED: Final = "response.created"
ADDED: Final = "response.output_item.added"
DELTA: Final = "response.function_call_arguments.delta"
DONE: Final = "response.function_call_arguments.done"
CLOSED: Final = "response.output_item.done"
COMPLETED: Final = "response.completed"
REALTIME_DONE: Final = "response.done"
"""The Realtime API's word for the end, whatever it is."""
TERMINAL: Final = frozenset({COMPLETED, "response.incomplete", "response.failed", "response.cancelled"})


def terminal_type(payload: dict[str, Json]) -> str:
    """What the end of a response is called here, by its status."""
    response = payload.get("response")
    kind = f"response.{response.get('status') if isinstance(response, dict) else ''}"
    return kind if kind in TERMINAL else COMPLETED


def missing_head(payload: dict[str, Json], kind: str) -> dict[str, Json] | None:
    """The response as it should have been created, where a stream begins with this event; `None` where all is well.

    Only an event that has the response tells its id, which clients compare with the last event's, and send back. A
    stream that is resumed has no head.
    """
    told, number = payload.get("response"), payload.get("sequence_number")
    if kind == CREATED or not isinstance(told, dict) or not told.get("id"):
        return None
    if not kind.startswith("response.") or (isinstance(number, int) and number > 1):
        return None
    return {**{key: value for key, value in told.items() if key != "usage"}, "status": "in_progress", "output": []}
