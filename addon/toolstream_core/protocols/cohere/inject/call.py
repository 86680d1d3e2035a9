"""How Cohere calls are broken, as far as no other protocol has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.model import Phase
from toolstream_core.protocols.cohere.inject.call_event import with_fields, with_function, without
from toolstream_core.protocols.cohere.wire import entry_of, with_entry
from toolstream_core.protocols.requests.tools import earlier_ids
from toolstream_core.stages.inject.call_order import reused_id

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.call_injector import CallInjector, Edit, Edited
    from toolstream_core.stages.inject.wire_event import WireEvent


def _repeated_id(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector
    return [event.with_id(call.id)] if event.phase is Phase.MORE else None


def _changing_id(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector
    return [event.with_id(f"{call.id}_2")] if event.phase is Phase.MORE else None


def _late_id(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    if event.phase is Phase.OPEN:
        injector.kept[id(call)] = entry_of(event.body).get("id")
        return [event.without_id()]
    given = injector.kept.pop(id(call), None)
    return [event.with_body(with_fields(event.body, id=given))] if given else None


def _late_name(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    if event.phase is Phase.OPEN:
        injector.kept[id(call)] = call.name
        return [event.with_body(without(event.body, "name"))]
    given = injector.kept.pop(id(call), None)
    return [event.with_name(given)] if given else None


def _repeated_name(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector
    return [event.with_name(call.name)] if event.phase is Phase.MORE else None


def _missing_type(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector, call
    return [event.with_body(without(event.body, "type"))] if event.phase is Phase.OPEN else None


def _offset_index(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector
    return [event.at(call.position + 1)]


def _changing_index(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    """Deltas of a later call have the first one's index."""
    first = injector.calls[0] if injector.calls else call
    if call is first or event.phase is not Phase.MORE or not isinstance(first.index, int):
        return None
    return [event.at(first.index)]


def _list(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector, call
    return [event.with_body(with_entry(event.body, [entry_of(event.body)]))] if event.phase is Phase.OPEN else None


def _null_arguments(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector, call
    return [event.with_text(None)] if event.phase is Phase.OPEN else None


def _misnamed_arguments(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector, call
    if event.phase is not Phase.MORE:
        return None
    return [event.with_body(with_function(without(event.body, "arguments"), parameters=event.text))]


def _missing_deltas(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    """The arguments come with the end alone."""
    del injector
    if event.phase is Phase.MORE:
        return []
    if event.phase is not Phase.CLOSE or call.arguments.empty:
        return None
    return [event.with_body(with_entry(event.body, {"function": {"arguments": call.arguments.reading()[0]}}))]


EDITS: Final[dict[str, Edit]] = {
    "reused-id": reused_id(earlier_ids),
    "repeated-id": _repeated_id,
    "changing-id": _changing_id,
    "repeated-name": _repeated_name,
    "missing-type": _missing_type,
    "offset-index": _offset_index,
    "changing-index": _changing_index,
    "tool-calls-object": _list,
    "null-arguments": _null_arguments,
    "misnamed-arguments": _misnamed_arguments,
}
"""Each does the same to every delta."""
EDITS_OF_ONE_DELTA: Final[dict[str, Edit]] = {
    "late-id": _late_id,
    "late-name": _late_name,
    "missing-deltas": _missing_deltas,
}
