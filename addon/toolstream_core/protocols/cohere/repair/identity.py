"""Who a Cohere call is: id, name, type and index, judged and repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolstream_core.calls import nonblank
from toolstream_core.defects.identity import (
    CHANGING_ID,
    CHANGING_INDEX,
    DUPLICATE_ID,
    MISSING_ID,
    MISSING_INDEX,
    MISSING_TYPE,
    ODD_INDEX,
    OFFSET_INDEX,
    REPEATED_ID,
    REPEATED_NAME,
    REUSED_INDEX,
    UNKNOWN_BLOCK,
)
from toolstream_core.model import ABSENT
from toolstream_core.protocols.cohere.wire import CALL_END, entry_of, function_of, index_of, kind_of, with_entry
from toolstream_core.stages.repair.identity import judge_id, judge_name

if TYPE_CHECKING:
    from toolstream_core.protocols.cohere.repair.calls import ClientCalls
    from toolstream_core.protocols.cohere.repair.client_call import ClientCall
    from toolstream_core.protocols.cohere.wire import Payload

ID_PREFIX: Final = "call_"


def header(one: ClientCall, repairer: ClientCalls) -> Payload:
    """The event that starts a call as the client is to get it, but for its index and arguments."""
    entry = entry_of(one.start)
    edits = _identity(one, repairer)
    name = judge_name(one.name, repairer.context.schemas, one.judge)
    if name != one.name:
        edits["function"] = {**function_of(entry), "name": name}
    if entry.get("type") is None and one.judge(MISSING_TYPE, "the call starts without a type"):
        edits["type"] = "function"
    return with_entry(one.start, {**entry, **edits}) if edits else one.start


def _identity(one: ClientCall, repairer: ClientCalls) -> dict[str, Any]:
    """What has to change in an entry so that the call has an id of its own."""
    given = one.given_id
    if not given:
        repair = one.judge(MISSING_ID, "the call starts without an id") and one.name != ""
    else:
        repair = given in repairer.by_id and one.judge(DUPLICATE_ID, f"id {given} is that of another call")
    judge_id(given, repairer.earlier_ids, one.judge)
    if not repair:
        return {}
    made = repairer.context.ids.make(ID_PREFIX)
    repairer.context.ids.stands_for(made, given, one.name)
    return {"id": made}


def continued(one: ClientCall, payload: Payload) -> Payload:
    """A delta or end without what only the start says: id and name."""
    entry = entry_of(payload)
    if not entry:
        return payload
    function, changed = function_of(entry), entry
    if _id_goes(one, payload, nonblank(entry.get("id"))):
        changed = _without(changed, "id")
    if nonblank(function.get("name")) and _name_goes(one, payload):
        rest = _without(function, "name")
        changed = {**changed, "function": rest} if rest else _without(changed, "function")
    if changed is entry:
        return payload
    return with_entry(payload, changed) if changed or kind_of(payload) != CALL_END else _without(payload, "delta")


def _id_goes(one: ClientCall, payload: Payload, given: str) -> bool:
    """Whether the id that an event carries is taken out."""
    if not given:
        return False
    if payload is one.identified_by:
        return entry_of(one.start).get("id") == given
    if given == one.given_id:
        return one.judge(REPEATED_ID, "a later event carries the call's id again")
    return one.judge(CHANGING_ID, f"the id is {given}, and was {one.given_id or 'missing'}")


def _name_goes(one: ClientCall, payload: Payload) -> bool:
    """Whether the name that an event carries is taken out."""
    if payload is one.identified_by:
        return function_of(entry_of(one.start)).get("name") == one.name
    return one.judge(REPEATED_NAME, "a later event carries the call's name again")


def _without(owner: Payload, key: str) -> Payload:
    return {name: value for name, value in owner.items() if name != key}


def place(one: ClientCall, repairer: ClientCalls, expected: int) -> None:
    """Find out whether the index of a call's start is its place, and whether it gets that; `expected` is the wire's."""
    index, repair = one.index, False
    if index is ABSENT or index is None:
        repair = one.judge(MISSING_INDEX, "the call starts without an index")
    elif type(index) is not int or index < 0:
        repair = one.judge(ODD_INDEX, f"the index is {index!r}")
    elif index != expected and index in repairer.indexes:
        repair = one.judge(REUSED_INDEX, f"index {index} is that of an earlier call")
    elif index != expected:
        repair = one.judge(OFFSET_INDEX, f"the index is {index} where {expected} comes next")
    one.moved = one.index != one.place and (repair or one.place != expected)


def index_repaired(one: ClientCall, repairer: ClientCalls, payload: Payload) -> bool:
    """Whether a delta or end carries another index than its call's start, and that is repaired."""
    index = payload.get("index", ABSENT)
    if index == one.index and type(index) is type(one.index):
        return False
    if index is ABSENT or index is None:
        return one.judge(MISSING_INDEX, "an event of the call has no index")
    if type(index) is not int or index < 0:
        return one.judge(ODD_INDEX, f"the index is {index!r}")
    if index_of(payload) in repairer.indexes:
        return one.judge(CHANGING_INDEX, f"the index is {index}, and was {one.index}")
    return one.judge(UNKNOWN_BLOCK, f"no call {index} was started")
