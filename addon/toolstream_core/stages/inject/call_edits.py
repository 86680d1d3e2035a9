"""How the identity and the order of a call's events are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.model import Phase

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.call_injector import CallInjector, Edit, Edited
    from toolstream_core.stages.inject.wire_event import WireEvent

_FAR: Final = 100
"""Added to indexes that no call of the stream has."""


def _missing_id(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector, call
    return [event.without_id()] if event.phase is Phase.OPEN else None


def _duplicate_id(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    if event.phase is not Phase.OPEN or call is injector.calls[0]:
        return None
    return [event.with_id(injector.calls[0].id)]


def _odd_id(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector
    return [event.with_id(f"{call.id}{'x' * 400}")] if event.phase is Phase.OPEN else None


def _decorated_name(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    if event.phase is not Phase.OPEN or call.name not in injector.context.schemas:
        return None
    return [event.with_name(f"functions.{call.name}")]


def _missing_name(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector, call
    return [event.with_name("")] if event.phase is Phase.OPEN else None


def _reused_index(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    first = injector.calls[0] if injector.calls else call
    return None if call is first or not isinstance(first.index, int) else [event.at(first.index)]


def _unknown_block(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    """Deltas and end have an index that was never started."""
    del injector
    return None if event.phase is Phase.OPEN else [event.at(_FAR + call.position)]


def _unclosed(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector, call
    return [] if event.phase is Phase.CLOSE else None


def _repeated_stop(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector, call
    return [event, event] if event.phase is Phase.CLOSE else None


def _overlapping(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    """Ends come only when all calls are over."""
    del call
    if event.phase is not Phase.CLOSE:
        return None
    injector.late.append(event)
    return []


def _doubled(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    """The whole call once more, at an index of its own, right behind it."""
    if event.phase is Phase.OPEN:
        injector.kept[id(call)] = event
        return None
    if event.phase is not Phase.CLOSE or id(call) not in injector.kept:
        return None
    start: WireEvent = injector.kept.pop(id(call))
    index = _FAR + call.position
    delta = event.arguments_delta(index, call.arguments.reading()[0])
    return [event, start.at(index), delta, event.end_of_call(index)]


def _repeated_start(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    if event.phase is Phase.OPEN:
        injector.kept[id(call)] = event
        return None
    start = injector.kept.pop(id(call), None)
    return [start, event] if event.phase is Phase.MORE and start is not None else None


def _missing_index(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector, call
    return [event.with_body({key: value for key, value in event.body.items() if key != event.INDEX})]


def _odd_index(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector, call
    return [event.with_body({**event.body, event.INDEX: str(event.body.get(event.INDEX))})]


EDITS: Final[dict[str, Edit]] = {
    "missing-id": _missing_id,
    "duplicate-id": _duplicate_id,
    "odd-id": _odd_id,
    "decorated-name": _decorated_name,
    "missing-name": _missing_name,
    "reused-index": _reused_index,
    "unknown-block": _unknown_block,
    "unclosed-call": _unclosed,
    "repeated-stop": _repeated_stop,
    "overlapping-blocks": _overlapping,
    "doubled-call": _doubled,
}
"""Each does the same to every delta."""
EDITS_OF_INDEXES: Final[dict[str, Edit]] = {"missing-index": _missing_index, "odd-index": _odd_index}
"""The same of protocols whose clients need no index to keep calls apart."""
EDITS_OF_ONE_DELTA: Final[dict[str, Edit]] = {"repeated-start": _repeated_start}
