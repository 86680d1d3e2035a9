"""How the identity and the life of Converse blocks are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.bedrock.converse_event import (
    BLOCK_DELTA,
    BLOCK_START,
    BLOCK_STOP,
    INDEX,
    ConverseEvent,
    input_delta,
)
from toolstream_core.protocols.bedrock.inject.base import BlockInjector, Said, injector, with_tool
from toolstream_core.protocols.bedrock.request import BedrockRequests

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.injector import InjectorMaker

type Edited = Iterable[Said] | None


def _missing_id(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    del injector, call
    return with_tool(event, toolUseId="") if event.kind == BLOCK_START else None


def _duplicate_id(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    if event.kind != BLOCK_START or call is injector.calls[0]:
        return None
    return with_tool(event, toolUseId=injector.calls[0].id)


def _odd_id(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    del injector
    return with_tool(event, toolUseId=f"{call.id}{'x' * 400}") if event.kind == BLOCK_START else None


def _reused_id(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    del call
    earlier = min(BedrockRequests().earlier_ids(injector.context.exchange.request), default=None)
    return with_tool(event, toolUseId=earlier) if earlier and event.kind == BLOCK_START else None


def _decorated_name(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    if event.kind != BLOCK_START or call.name not in injector.context.schemas:
        return None
    return with_tool(event, name=f"functions.{call.name}")


def _missing_name(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    del injector, call
    return with_tool(event, name="") if event.kind == BLOCK_START else None


def _reused_index(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    first = injector.calls[0] if injector.calls else call
    if call is first or not isinstance(first.index, int):
        return None
    return [(event.kind, {**event.body, INDEX: first.index})]


def _unknown_block(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    """Deltas and stop carry an index that was never started."""
    del injector
    return None if event.kind == BLOCK_START else [(event.kind, {**event.body, INDEX: 100 + call.position})]


def _foreign_delta(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    if event.kind != BLOCK_DELTA or id(call) in injector.kept:
        return None
    injector.kept[id(call)] = True
    return [(BLOCK_DELTA, event.body), (BLOCK_DELTA, {**event.body, "delta": {"text": "\n"}})]


def _unclosed(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    del injector, call
    return [] if event.kind == BLOCK_STOP else None


def _repeated_stop(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    del injector, call
    return [(BLOCK_STOP, event.body)] * 2 if event.kind == BLOCK_STOP else None


def _repeated_start(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    if event.kind == BLOCK_START:
        injector.kept[id(call)] = event.body
        return None
    start = injector.kept.pop(id(call), None)
    return [(BLOCK_START, start), (BLOCK_DELTA, event.body)] if event.kind == BLOCK_DELTA and start else None


def _overlapping(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    """Stops come only when all blocks are over."""
    del call
    if event.kind != BLOCK_STOP:
        return None
    injector.late.append((BLOCK_STOP, event.body))
    return []


def _doubled(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    """The whole call once more, in a block of its own, right behind it."""
    if event.kind == BLOCK_START:
        injector.kept[id(call)] = event.body
        return None
    if event.kind != BLOCK_STOP or id(call) not in injector.kept:
        return None
    place = 100 + call.position
    return [
        (BLOCK_STOP, event.body),
        (BLOCK_START, {**injector.kept.pop(id(call)), INDEX: place}),
        (BLOCK_DELTA, input_delta(place, call.arguments.reading()[0])),
        (BLOCK_STOP, {INDEX: place}),
    ]


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "missing-id": injector(_missing_id),
    "duplicate-id": injector(_duplicate_id),
    "odd-id": injector(_odd_id),
    "reused-id": injector(_reused_id),
    "decorated-name": injector(_decorated_name),
    "missing-name": injector(_missing_name),
    "reused-index": injector(_reused_index),
    "unknown-block": injector(_unknown_block),
    "foreign-delta": injector(_foreign_delta),
    "unclosed-call": injector(_unclosed),
    "repeated-stop": injector(_repeated_stop),
    "repeated-start": injector(_repeated_start),
    "overlapping-blocks": injector(_overlapping),
    "doubled-call": injector(_doubled),
}
