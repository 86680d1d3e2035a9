"""Names the defect of a field that differs from its intended value, with a message.

A difference without a defect (`None`) results from another one.
"""

from __future__ import annotations

from typing import NamedTuple

from toolstream_core.calls import nonblank
from toolstream_core.calls.placeholders import is_markup
from toolstream_core.defects.arguments import MISNAMED_ARGUMENTS, NULL_ARGUMENTS, OBJECT_ARGUMENTS
from toolstream_core.defects.defect import NOTE, Defect
from toolstream_core.defects.identity import (
    CHANGING_ID,
    CHANGING_INDEX,
    DECORATED_NAME,
    DUPLICATE_ID,
    EMPTY_ID,
    EMPTY_NAME,
    LATE_ID,
    LATE_NAME,
    MISSING_ID,
    MISSING_INDEX,
    MISSING_TYPE,
    NULL_IDENTITY,
    ODD_INDEX,
    OFFSET_INDEX,
    REPEATED_ID,
    REPEATED_NAME,
    REUSED_INDEX,
    SPLIT_NAME,
)
from toolstream_core.model import ABSENT, Json, Severity
from toolstream_core.protocols.chat.repair.client import ClientCall, Lack, Turn
from toolstream_core.repair.fields import Fields


class Named(NamedTuple):
    """The defect of a difference."""

    defect: Defect
    message: str
    severity: Severity | None = None
    """The severity, if it is not the defect's."""


class EntryContext(NamedTuple):
    """The entry to write, and the state of its call."""

    state: ClientCall
    turn: Turn
    opens: bool
    """Whether the entry opens the call for the client."""
    more: Lack
    received: Fields
    """The received fields."""


def index(received: Json, intended: Json, entry: EntryContext) -> Named | None:
    """An index: absent, odd, another call's, out of order, or changed."""
    call = entry.state.intended.call
    if received is ABSENT:
        message = "the call opens without an index" if entry.opens else "a continuation has no index"
        clear = not call.guessed if not entry.opens else bool(nonblank(call.id)) or len(entry.turn.calls) == 1
        return Named(MISSING_INDEX, message, NOTE if clear else None)
    if type(received) is not int:
        return Named(ODD_INDEX, f"the index is {received!r}", NOTE if received is None and entry.opens else None)
    if entry.opens:
        if received < 0:
            return Named(ODD_INDEX, f"the index is {received!r}", NOTE)
        taken = entry.turn.indexes.get(received)
        if taken is not None and taken is not entry.state:
            return Named(REUSED_INDEX, f"index {received} is that of an earlier call")
        return Named(OFFSET_INDEX, f"the index is {received} where {intended} comes next")
    header = entry.state.header.get("index", ABSENT)
    if type(header) is int and received != header:
        return Named(CHANGING_INDEX, f"the index goes from {header} to {received}")
    return None


def call_id(received: Json, intended: Json, entry: EntryContext) -> Named | None:
    """An id: missing, another call's, late, empty, repeated, or changed."""
    given = entry.state.intended.call.id
    if entry.opens:
        if not given:
            return Named(MISSING_ID, "the call opens without an id", NOTE if received == "" else None)
        if intended != given:
            return Named(DUPLICATE_ID, f"id {given} is that of another call")
        if type(received) is int:
            return Named(MISSING_ID, f"the id is the number {received}")
        return Named(LATE_ID, "the id comes after the call's first fragment")
    if received is None:
        return Named(NULL_IDENTITY, "a continuation has id null")
    if type(received) is int:
        return Named(REPEATED_ID if str(received) == given else CHANGING_ID, f"a continuation has id {received}")
    if not nonblank(received):
        return Named(EMPTY_ID, f'a continuation has id "{received}"')
    if received != given:
        return Named(CHANGING_ID, f"the id goes from {given} to {received}")
    if not nonblank(entry.state.header.get("id", ABSENT)):
        return Named(LATE_ID, "the id comes after the call's first fragment")
    return Named(REPEATED_ID, "a continuation has the call's id again")


def name(received: Json, intended: Json, entry: EntryContext) -> Named | None:
    """A name: missing, late, in parts, decorated, empty, or repeated."""
    given = entry.state.intended.call.name
    if entry.opens:
        if not nonblank(received):
            return Named(LATE_NAME, "the name comes after the call's first fragment")
        if received != given:
            return Named(SPLIT_NAME, "the name is spread over several fragments")
        return Named(DECORATED_NAME, f"the name is {received!r}, the tool is {intended}")
    if received is None:
        return Named(NULL_IDENTITY, "a continuation has name null")
    if not nonblank(received):
        return Named(EMPTY_NAME, f'a continuation has name "{received}"')
    opened = entry.state.header.get("name", ABSENT)
    if not nonblank(opened):
        return Named(LATE_NAME, "the name comes after the call's first fragment")
    if is_markup(str(received)):
        return Named(DECORATED_NAME, f"a continuation has {received!r} as its name")
    if received == given:
        return Named(REPEATED_NAME, "a continuation has the call's name again")
    return Named(SPLIT_NAME, "the name is spread over several fragments")


def call_type(received: Json, intended: Json, entry: EntryContext) -> Named | None:
    """A type: missing at the start of the call, empty or null later."""
    if entry.opens:
        return Named(MISSING_TYPE, "the call opens without its type")
    if received is None:
        return Named(NULL_IDENTITY, "a continuation has type null")
    return Named(MISSING_TYPE, 'a continuation has type ""') if received == "" else None


def argument_form(received: Json, intended: Json, entry: EntryContext) -> Named | None:
    """The form of the arguments; `None` if it is the usual one."""
    if received is None:
        return Named(NULL_ARGUMENTS, NULL_ARGUMENTS.meaning)
    if received is ABSENT and "parameters" in entry.received:
        return MISNAMED
    if received is ABSENT:
        return Named(NULL_ARGUMENTS, "the call opens without arguments") if entry.opens else None
    return None if isinstance(received, str) else Named(OBJECT_ARGUMENTS, OBJECT_ARGUMENTS.meaning)


def misnamed(received: Json, intended: Json, entry: EntryContext) -> Named | None:
    """Arguments under another key."""
    return MISNAMED


MISNAMED = Named(MISNAMED_ARGUMENTS, "the arguments are under another key")
BY_FIELD = {
    "index": index,
    "id": call_id,
    "name": name,
    "type": call_type,
    "arguments": argument_form,
    "parameters": misnamed,
}
