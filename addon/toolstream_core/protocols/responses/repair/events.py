"""The events of Responses and Realtime: their types, and those that the repair adds for one call."""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.model import ABSENT

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.client import ClientItem
    from toolstream_core.repair.fields import Payload
    from toolstream_core.wire.frame import Frame

CREATED: Final = "response.created"
ADDED: Final = "response.output_item.added"
DELTA: Final = "response.function_call_arguments.delta"
DONE: Final = "response.function_call_arguments.done"
CLOSED: Final = "response.output_item.done"
COMPLETED: Final = "response.completed"
REALTIME_DONE: Final = "response.done"
TERMINAL: Final = frozenset({COMPLETED, "response.incomplete", "response.failed", "response.cancelled"})
OF_EVENT: Final = frozenset({"type", "sequence_number", "event_id", "response_id"})
"""Keys of an event that its response does not have; the last two belong to the Realtime API."""

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


_AS_FUNCTION: Final = {
    "response.custom_tool_call_input.delta": DELTA,
    "response.custom_tool_call_input.done": DONE,
}


def as_function_event(payload: Payload) -> Payload | None:
    """An event of a custom tool as the same event of a function call; `None` for any other event."""
    kind = _AS_FUNCTION.get(str(payload.get("type")))
    if kind is None:
        return None
    return {"arguments" if key == "input" else key: value for key, value in payload.items()} | {"type": kind}


def event_type(frame: Frame) -> str:
    """The type of an event; `""` for one that is not a JSON object."""
    payload = frame.json
    return str(payload.get("type", frame.name)) if isinstance(payload, dict) else ""


class EventForm(NamedTuple):
    """How the events that the Responses and Realtime APIs share differ between the two."""

    completed: str
    """The type of the terminal event of a completed response."""
    only_end: str | None
    """The type of the terminal event, if it does not depend on the status."""
    repeats_response: bool
    """Whether later events contain the response, from which a missing first event can be made."""
    names_calls: bool
    """Whether events with arguments have the call's id, and the last one the tool's name."""

    def terminal(self, payload: dict[str, Json], kind: str) -> tuple[str | None, str]:
        """The type that replaces another API's terminal type (or `None`), and the type in terms of Responses."""
        intended = _by_status(payload) if kind == REALTIME_DONE else kind
        own = self.only_end or intended
        return (None if own == kind else own), intended


RESPONSES_FORM: Final = EventForm(COMPLETED, only_end=None, repeats_response=True, names_calls=False)


def _by_status(payload: dict[str, Json]) -> str:
    response = payload.get("response")
    kind = f"response.{response.get('status') if isinstance(response, dict) else ''}"
    return kind if kind in TERMINAL else COMPLETED


class Tail(enum.Enum):
    """The last bytes of a body, after the last complete event."""

    NONE = enum.auto()
    COMMENT = enum.auto()
    EVENT = enum.auto()
    """A truncated event: its content is lost, and everything after it."""
    TERMINAL = enum.auto()
    """A truncated `response.completed`: every call came before it."""


def tail_of(frame: Frame) -> Tail:
    """Classifies the last frame of a body. Anything sent after a truncated event would become a part of it."""
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


OF_ITEM: Final = {key: ("item", key) for key in ("id", "call_id", "name", "arguments")}
"""Where events that add or close an item have its fields."""


def added(has: ClientItem) -> Payload:
    """The event that adds the call."""
    return {"type": ADDED, "output_index": has.place, "item": _item(has, "", "in_progress")}


def delta(has: ClientItem, text: str, form: EventForm) -> Payload:
    """A fragment of its arguments."""
    return {"type": DELTA, **_whose(has, form), "delta": text}


def done(has: ClientItem, text: str, form: EventForm) -> Payload:
    """The event with its complete arguments."""
    return {"type": DONE, **_whose(has, form, "name"), "arguments": text}


def closed(has: ClientItem, text: str, status: Json = "completed") -> Payload:
    """The event that closes the call."""
    return {"type": CLOSED, "output_index": has.place, "item": _item(has, text, status)}


def complete_item(has: ClientItem, text: str) -> Payload:
    """The fields of an item with the complete call."""
    return {"id": has.id, "call_id": has.call_id, "name": has.name, "arguments": text}


def _item(has: ClientItem, text: str, status: Json) -> Payload:
    return {**has.content, "type": "function_call", **complete_item(has, text), "status": status}


def _whose(has: ClientItem, form: EventForm, *more: str) -> Payload:
    """The fields that identify the call in an event with arguments."""
    place: Payload = {"item_id": has.id, "output_index": has.place}
    if not form.names_calls:
        return place
    known: Payload = {"call_id": has.call_id, "name": has.name}
    return place | {key: known[key] for key in ("call_id", *more) if known[key]}
