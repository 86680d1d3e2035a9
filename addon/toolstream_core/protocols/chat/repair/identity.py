"""How an entry has to read for the call to open with it, or to go on: index, id, name and type."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolstream_core.calls import nonblank as says
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
    MISSING_NAME,
    MISSING_TYPE,
    NULL_IDENTITY,
    ODD_ID,
    ODD_INDEX,
    OFFSET_INDEX,
    REPEATED_ID,
    REPEATED_NAME,
    REUSED_ID,
    REUSED_INDEX,
    SPLIT_NAME,
)
from toolstream_core.defects.row import NOTE
from toolstream_core.model import ABSENT
from toolstream_core.protocols.chat.repair.edits import DROP, Edits
from toolstream_core.stages.repair.names import plain_name

if TYPE_CHECKING:
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Fragment, Json
    from toolstream_core.protocols.chat.repair.client_call import ClientCall

_LATE_ID: Final = "the id comes after the call's first fragment"
_LATE_NAME: Final = "the name comes after the call's first fragment"
_USUAL_ID = re.compile(r"[\w.:|/+=-]{1,64}", re.ASCII)


def opening(known: ClientCall, fragment: Fragment, raw: Json) -> Edits:
    """The edits that make the entry a header; the client has none before it."""
    edits: Edits = {}
    known.told = True
    _open_index(known, fragment, raw, edits)
    _open_id(known, fragment, edits)
    _open_name(known, fragment, edits)
    if not (fragment.type and isinstance(fragment.type, str)) and known.judge(
        MISSING_TYPE, "the call opens without its type"
    ):
        edits["type"] = "function"
    return edits


def continuing(known: ClientCall, fragment: Fragment, raw: Json) -> Edits:
    """The edits that make the entry a continuation."""
    edits: Edits = {}
    _go_on_index(known, fragment, raw, edits)
    _go_on_id(known, fragment, edits)
    _go_on_name(known, fragment, edits)
    if says(fragment.type):
        drop = DROP in edits.values()
    elif fragment.type is None:
        drop = known.judge(NULL_IDENTITY, "a continuation has type null")
    else:
        drop = fragment.type == "" and known.judge(MISSING_TYPE, 'a continuation has type ""')
    if drop:
        edits["type"] = DROP
    return edits


def _open_index(known: ClientCall, fragment: Fragment, raw: Json, edits: Edits) -> None:
    wire, place = fragment.index, known.choice.free_index
    known.wire_index = wire
    known.index = wire if isinstance(wire, int) else place
    repair = False
    if wire is ABSENT or (wire is None and raw is None):
        clear = bool(says(fragment.id)) or len(known.choice.known) == 1
        message = "the call opens without an index"
        repair = _tell_index(known, MISSING_INDEX, message, severity_note=clear)
    elif not isinstance(wire, int) or wire < 0 or type(raw) not in {int, type(ABSENT)}:
        whole = type(raw) in {int, type(ABSENT)}
        repair = _tell_index(known, ODD_INDEX, f"the index is {wire if whole else raw!r}", severity_note=whole)
    elif wire in known.choice.taken:
        repair = known.judge(REUSED_INDEX, f"index {wire} is that of an earlier call")
    elif wire != place:
        repair = known.judge(OFFSET_INDEX, f"the index is {wire} where {place} comes next")
    if repair:
        known.index = edits["index"] = place
    known.choice.take(known.index, known)


def _tell_index(known: ClientCall, row: Row, message: str, *, severity_note: bool) -> bool:
    """As `judge`; milder where nothing is left to guess."""
    severity = NOTE if severity_note else None
    return known.repairer.report(row, known.event, message, known.call, severity=severity)


def _open_id(known: ClientCall, fragment: Fragment, edits: Edits) -> None:
    call, said = known.call, says(fragment.id)
    known.id = call.id
    if not call.id:
        severity = NOTE if fragment.id == "" else None
        message = "the call opens without an id"
        if known.repairer.report(MISSING_ID, known.event, message, call, severity=severity):
            known.id = edits["id"] = known.repairer.context.ids.make("call_")
    elif call.id in known.choice.ids and known.choice.ids[call.id] is not known:
        if known.judge(DUPLICATE_ID, f"id {call.id} is that of another call"):
            known.id = edits["id"] = known.repairer.context.ids.make("call_")
    elif not said and known.judge(LATE_ID, _LATE_ID):
        edits["id"] = call.id
        known.late.add("id")
    if known.id and "id" not in edits and said != known.id:
        edits["id"] = known.id
    if call.id in known.repairer.earlier_ids:
        known.judge(REUSED_ID, f"id {call.id} was that of a call of an earlier turn")
    if call.id and not _USUAL_ID.fullmatch(call.id):
        known.judge(ODD_ID, f"the id has {len(call.id)} characters, or some that other APIs refuse")
    known.choice.ids.setdefault(known.id, known)


def _open_name(known: ClientCall, fragment: Fragment, edits: Edits) -> None:
    name, said = known.call.name, says(fragment.name)
    if not name:
        known.judge(MISSING_NAME, "the call has no name")
        return
    if not said:
        repair = known.judge(LATE_NAME, _LATE_NAME)
        known.late.update({"name"} if repair else ())
    else:
        repair = said != name and known.judge(SPLIT_NAME, "the name is spread over several fragments")
    if repair:
        edits["name"] = name
    known.name = name if repair else said
    plain = plain_name(name, known.repairer.context.schemas)
    if plain != name and known.judge(DECORATED_NAME, f"the name is {name!r}, the tool is {plain}"):
        edits["name"] = plain


def _go_on_index(known: ClientCall, fragment: Fragment, raw: Json, edits: Edits) -> None:
    wire = fragment.index
    if wire is ABSENT or (wire is None and raw is None):
        if _tell_index(known, MISSING_INDEX, "a continuation has no index", severity_note=not known.call.guessed):
            edits["index"] = known.index
    elif not isinstance(wire, int) or type(raw) not in {int, type(ABSENT)}:
        if known.judge(ODD_INDEX, f"the index is {raw!r}"):
            edits["index"] = known.index
    elif wire != known.wire_index and isinstance(known.wire_index, int):
        if known.judge(CHANGING_INDEX, f"the index goes from {known.wire_index} to {wire}"):
            edits["index"] = known.index
    elif wire != known.index:
        edits["index"] = known.index


def _go_on_id(known: ClientCall, fragment: Fragment, edits: Edits) -> None:
    said = fragment.id
    if said is ABSENT:
        return
    key = says(said)
    if said is None:
        drop = known.judge(NULL_IDENTITY, "a continuation has id null")
    elif not key:
        drop = known.judge(EMPTY_ID, f'a continuation has id "{said}"')
    elif not known.id:
        known.judge(LATE_ID, _LATE_ID)
        known.id, drop = key, False
    elif key == known.call.id and "id" in known.late:
        known.late.discard("id")
        drop = known.judge(LATE_ID, _LATE_ID)
    elif key == known.call.id:
        drop = known.judge(REPEATED_ID, "a continuation has the call's id again")
    else:
        drop = known.judge(CHANGING_ID, f"the id goes from {known.call.id} to {key}")
    if drop:
        edits["id"] = DROP
        _comes_late(known, key)


def _comes_late(known: ClientCall, identity: str) -> None:
    """An id that comes when the client has a made-up one already; no other call may have it."""
    context = known.repairer.context
    if identity != known.call.id or not context.ids.made(known.id):
        return
    if known.choice.ids.setdefault(identity, known) is known:
        context.ids.stands_for(known.id, identity, plain_name(known.call.name, context.schemas))


def _go_on_name(known: ClientCall, fragment: Fragment, edits: Edits) -> None:
    said = fragment.name
    if said is ABSENT:
        return
    if said is None:
        drop = known.judge(NULL_IDENTITY, "a continuation has name null")
    elif not says(said):
        drop = known.judge(EMPTY_NAME, f'a continuation has name "{said}"')
    elif not known.name:
        known.judge(LATE_NAME, _LATE_NAME)
        known.name, drop = said, False
    elif said == known.call.name and "name" in known.late:
        known.late.discard("name")
        drop = known.judge(LATE_NAME, _LATE_NAME)
    elif said == known.call.name:
        drop = known.judge(REPEATED_NAME, "a continuation has the call's name again")
    else:
        told = known.judge(SPLIT_NAME, "the name is spread over several fragments")
        drop = told and known.name == known.call.name
    if drop:
        edits["name"] = DROP
