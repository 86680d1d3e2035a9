"""Names differences: the received field of an entry, the intended one, and the defect.

A difference whose repair is off stays. One without a defect follows from another.
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
    """A difference with its name."""

    defect: Defect
    message: str
    severity: Severity | None = None
    """The severity, if it is not the defect's."""


class EntryContext(NamedTuple):
    """An entry that is written: its call, and the state of the client."""

    one: ClientCall
    turn: Turn
    opens: bool
    """Whether the entry opens the call for the client."""
    more: Lack
    was: Fields
    """The received fields."""


def index(was: Json, should: Json, at: EntryContext) -> Named | None:
    """An index: absent, odd, another call's, out of order, or changed."""
    call = at.one.intended.call
    if was is ABSENT:
        message = "the call opens without an index" if at.opens else "a continuation has no index"
        clear = not call.guessed if not at.opens else bool(nonblank(call.id)) or len(at.turn.calls) == 1
        return Named(MISSING_INDEX, message, NOTE if clear else None)
    if type(was) is not int:
        return Named(ODD_INDEX, f"the index is {was!r}", NOTE if was is None and at.opens else None)
    if at.opens:
        if was < 0:
            return Named(ODD_INDEX, f"the index is {was!r}", NOTE)
        taken = at.turn.indexes.get(was)
        if taken is not None and taken is not at.one:
            return Named(REUSED_INDEX, f"index {was} is that of an earlier call")
        return Named(OFFSET_INDEX, f"the index is {was} where {should} comes next")
    header = at.one.header.get("index", ABSENT)
    if type(header) is int and was != header:
        return Named(CHANGING_INDEX, f"the index goes from {header} to {was}")
    return None


def call_id(was: Json, should: Json, at: EntryContext) -> Named | None:
    """An id: missing, another call's, late, empty, repeated, or changed."""
    given = at.one.intended.call.id
    if at.opens:
        if not given:
            return Named(MISSING_ID, "the call opens without an id", NOTE if was == "" else None)
        if should != given:
            return Named(DUPLICATE_ID, f"id {given} is that of another call")
        if type(was) is int:
            return Named(MISSING_ID, f"the id is the number {was}")
        return Named(LATE_ID, "the id comes after the call's first fragment")
    if was is None:
        return Named(NULL_IDENTITY, "a continuation has id null")
    if type(was) is int:
        return Named(REPEATED_ID if str(was) == given else CHANGING_ID, f"a continuation has id {was}")
    if not nonblank(was):
        return Named(EMPTY_ID, f'a continuation has id "{was}"')
    if was != given:
        return Named(CHANGING_ID, f"the id goes from {given} to {was}")
    if not nonblank(at.one.header.get("id", ABSENT)):
        return Named(LATE_ID, "the id comes after the call's first fragment")
    return Named(REPEATED_ID, "a continuation has the call's id again")


def name(was: Json, should: Json, at: EntryContext) -> Named | None:
    """A name: missing, late, in parts, decorated, empty, or repeated."""
    given = at.one.intended.call.name
    if at.opens:
        if not nonblank(was):
            return Named(LATE_NAME, "the name comes after the call's first fragment")
        if was != given:
            return Named(SPLIT_NAME, "the name is spread over several fragments")
        return Named(DECORATED_NAME, f"the name is {was!r}, the tool is {should}")
    if was is None:
        return Named(NULL_IDENTITY, "a continuation has name null")
    if not nonblank(was):
        return Named(EMPTY_NAME, f'a continuation has name "{was}"')
    opened = at.one.header.get("name", ABSENT)
    if not nonblank(opened):
        return Named(LATE_NAME, "the name comes after the call's first fragment")
    if is_markup(str(was)):
        return Named(DECORATED_NAME, f"a continuation has {was!r} as its name")
    if was == given:
        return Named(REPEATED_NAME, "a continuation has the call's name again")
    return Named(SPLIT_NAME, "the name is spread over several fragments")


def call_type(was: Json, should: Json, at: EntryContext) -> Named | None:
    """A type: missing at the start of the call, empty or null later."""
    if at.opens:
        return Named(MISSING_TYPE, "the call opens without its type")
    if was is None:
        return Named(NULL_IDENTITY, "a continuation has type null")
    return Named(MISSING_TYPE, 'a continuation has type ""') if was == "" else None


def argument_form(was: Json, should: Json, at: EntryContext) -> Named | None:
    """The form of the arguments; `None` if it is the usual one."""
    if was is None:
        return Named(NULL_ARGUMENTS, NULL_ARGUMENTS.meaning)
    if was is ABSENT and "parameters" in at.was:
        return MISNAMED
    if was is ABSENT:
        return Named(NULL_ARGUMENTS, "the call opens without arguments") if at.opens else None
    return None if isinstance(was, str) else Named(OBJECT_ARGUMENTS, OBJECT_ARGUMENTS.meaning)


def misnamed(was: Json, should: Json, at: EntryContext) -> Named | None:
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
