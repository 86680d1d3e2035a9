"""The events that say what a client lacks of one call. Pure; knows the wire of Responses and Realtime only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.responses.repair.event_types import ADDED, CLOSED, DELTA, DONE

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.client import ClientItem
    from toolstream_core.protocols.responses.repair.event_types import EventForm
    from toolstream_core.repair.fields import Payload


OF_ITEM: Final = {key: ("item", key) for key in ("id", "call_id", "name", "arguments")}
"""Where events that add or close an item have its fields."""


def added(has: ClientItem) -> Payload:
    """The event that adds it."""
    return {"type": ADDED, "output_index": has.place, "item": _item(has, "", "in_progress")}


def delta(has: ClientItem, text: str, form: EventForm) -> Payload:
    """A piece of its arguments."""
    return {"type": DELTA, **_whose(has, form), "delta": text}


def done(has: ClientItem, text: str, form: EventForm) -> Payload:
    """Its whole arguments."""
    return {"type": DONE, **_whose(has, form, "name"), "arguments": text}


def closed(has: ClientItem, text: str, status: Json = "completed") -> Payload:
    """The event that closes it."""
    return {"type": CLOSED, "output_index": has.place, "item": _item(has, text, status)}


def whole_item(has: ClientItem, text: str) -> Payload:
    """What an item that says it whole has to say."""
    return {"id": has.id, "call_id": has.call_id, "name": has.name, "arguments": text}


def _item(has: ClientItem, text: str, status: Json) -> Payload:
    return {**has.content, "type": "function_call", **whole_item(has, text), "status": status}


def _whose(has: ClientItem, form: EventForm, *more: str) -> Payload:
    """Whose arguments an event has."""
    place: Payload = {"item_id": has.id, "output_index": has.place}
    if not form.names_calls:
        return place
    known: Payload = {"call_id": has.call_id, "name": has.name}
    return place | {key: known[key] for key in ("call_id", *more) if known[key]}
