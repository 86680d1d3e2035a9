"""How the identity, the order and the form of Cohere calls are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.cohere.inject.base import CallInjector, maker, with_fields, with_function, without
from toolstream_core.protocols.cohere.wire import (
    CALL_DELTA,
    CALL_END,
    CALL_START,
    Payload,
    call_delta,
    call_end,
    entry_of,
    with_entry,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.injector import InjectorMaker

type Edited = Iterable[Payload] | None

FAR: Final = 100
"""Added to indexes that no call of the stream has."""


def _missing_id(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector, call
    return [without(payload, "id")] if kind == CALL_START else None


def _duplicate_id(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    if kind != CALL_START or call is injector.calls[0]:
        return None
    return [with_fields(payload, id=injector.calls[0].id)]


def _repeated_id(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector
    return [with_fields(payload, id=call.id)] if kind == CALL_DELTA else None


def _changing_id(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector
    return [with_fields(payload, id=f"{call.id}_2")] if kind == CALL_DELTA else None


def _late_id(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    if kind == CALL_START:
        injector.kept[id(call)] = entry_of(payload).get("id")
        return [without(payload, "id")]
    given = injector.kept.pop(id(call), None)
    return [with_fields(payload, id=given)] if given else None


def _late_name(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    if kind == CALL_START:
        injector.kept[id(call)] = call.name
        return [without(payload, "name")]
    given = injector.kept.pop(id(call), None)
    return [with_function(payload, name=given)] if given else None


def _repeated_name(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector
    return [with_function(payload, name=call.name)] if kind == CALL_DELTA else None


def _decorated(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    if kind != CALL_START or call.name not in injector.context.schemas:
        return None
    return [with_function(payload, name=f"functions.{call.name}")]


def _missing_name(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector, call
    return [with_function(payload, name="")] if kind == CALL_START else None


def _missing_type(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector, call
    return [without(payload, "type")] if kind == CALL_START else None


def _odd_id(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector
    return [with_fields(payload, id=f"{call.id}{'x' * 400}")] if kind == CALL_START else None


def _missing_index(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector, kind, call
    return [{key: value for key, value in payload.items() if key != "index"}]


def _odd_index(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector, kind
    return [{**payload, "index": str(call.position)}]


def _offset_index(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector, kind
    return [{**payload, "index": call.position + 1}]


def _reused_index(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del kind
    first = injector.calls[0] if injector.calls else call
    return None if call is first or not isinstance(first.index, int) else [{**payload, "index": first.index}]


def _changing_index(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    """Deltas of a later call have the first one's index."""
    first = injector.calls[0] if injector.calls else call
    if call is first or kind != CALL_DELTA or not isinstance(first.index, int):
        return None
    return [{**payload, "index": first.index}]


def _unknown_block(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    """Deltas and end carry an index that was never started."""
    del injector
    return None if kind == CALL_START else [{**payload, "index": FAR + call.position}]


def _list(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector, call
    return [with_entry(payload, [entry_of(payload)])] if kind == CALL_START else None


def _doubled(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    """The whole call once more, at an index of its own, right behind it."""
    if kind == CALL_START:
        injector.kept[id(call)] = payload
        return None
    if kind != CALL_END or id(call) not in injector.kept:
        return None
    index = FAR + call.position
    again = {**injector.kept.pop(id(call)), "index": index}
    return [payload, again, call_delta(index, call.arguments.reading()[0]), call_end(index)]


def _unclosed(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector, payload, call
    return [] if kind == CALL_END else None


def _repeated_stop(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector, call
    return [payload, payload] if kind == CALL_END else None


def _repeated_start(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    if kind == CALL_START:
        injector.kept[id(call)] = payload
        return None
    start = injector.kept.pop(id(call), None)
    return [start, payload] if kind == CALL_DELTA and start is not None else None


def _overlapping(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    """Ends come only when all calls are over."""
    del call
    if kind != CALL_END:
        return None
    injector.late.append(payload)
    return []


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "missing-id": maker(_missing_id, steady=True),
    "duplicate-id": maker(_duplicate_id, steady=True),
    "repeated-id": maker(_repeated_id, steady=True),
    "changing-id": maker(_changing_id, steady=True),
    "late-id": maker(_late_id),
    "late-name": maker(_late_name),
    "repeated-name": maker(_repeated_name, steady=True),
    "decorated-name": maker(_decorated, steady=True),
    "missing-name": maker(_missing_name, steady=True),
    "missing-type": maker(_missing_type, steady=True),
    "odd-id": maker(_odd_id, steady=True),
    "missing-index": maker(_missing_index, steady=True),
    "odd-index": maker(_odd_index, steady=True),
    "offset-index": maker(_offset_index, steady=True),
    "reused-index": maker(_reused_index, steady=True),
    "changing-index": maker(_changing_index, steady=True),
    "unknown-block": maker(_unknown_block, steady=True),
    "tool-calls-object": maker(_list, steady=True),
    "doubled-call": maker(_doubled, steady=True),
    "unclosed-call": maker(_unclosed, steady=True),
    "repeated-stop": maker(_repeated_stop, steady=True),
    "repeated-start": maker(_repeated_start),
    "overlapping-blocks": maker(_overlapping, steady=True),
}
