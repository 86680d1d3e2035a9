"""How Anthropic's content blocks are broken: their starts, their stops and their indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.anthropic.inject.base import (
    DELTA,
    START,
    STOP,
    BlockInjector,
    Payload,
    maker,
    with_block,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.injector import InjectorMaker


def _missing_input(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    if kind != START or "input" not in payload["content_block"]:
        return None
    return [{**payload, "content_block": {k: v for k, v in payload["content_block"].items() if k != "input"}}]


def _missing_id(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    return [with_block(payload, id="")] if kind == START else None


def _duplicate_id(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != START or call is injector.calls[0]:
        return None
    return [with_block(payload, id=injector.calls[0].id)]


def _decorated(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != START or call.name not in injector.context.schemas:
        return None
    return [with_block(payload, name=f"functions.{call.name}")]


def _missing_name(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    return [with_block(payload, name="")] if kind == START else None


def _odd_id(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector
    return [with_block(payload, id=f"{call.id}{'x' * 400}")] if kind == START else None


def _reused_index(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del kind
    first = injector.calls[0] if injector.calls else call
    return None if call is first or not isinstance(first.index, int) else [{**payload, "index": first.index}]


def _offset_index(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, kind, call
    index = payload.get("index")
    return [{**payload, "index": index + 1}] if isinstance(index, int) else None


def _unknown_block(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """Deltas and stop carry an index that was never started."""
    del injector
    return None if kind == START else [{**payload, "index": 100 + call.position}]


def _foreign_delta(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or id(call) in injector.kept:
        return None
    injector.kept[id(call)] = True
    return [payload, {**payload, "delta": {"type": "text_delta", "text": "\n"}}]


def _unclosed(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, payload, call
    return [] if kind == STOP else None


def _repeated_stop(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    return [payload, payload] if kind == STOP else None


def _repeated_start(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind == START:
        injector.kept[id(call)] = payload
        return None
    start = injector.kept.pop(id(call), None)
    return [start, payload] if kind == DELTA and start is not None else None


def _overlapping(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """Stops come only when all blocks are over."""
    del call
    if kind != STOP:
        return None
    injector.late.append(payload)
    return []


def _doubled(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """The whole call once more, in a block of its own, right behind it."""
    if kind == START:
        injector.kept[id(call)] = payload
        return None
    if kind != STOP or id(call) not in injector.kept:
        return None
    place = {"index": 100 + call.position}
    delta = {"type": "input_json_delta", "partial_json": call.arguments.reading()[0]}
    return [
        payload,
        {**injector.kept.pop(id(call)), **place},
        {"type": DELTA, **place, "delta": delta},
        {"type": STOP, **place},
    ]


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "missing-input": maker(_missing_input, steady=True),
    "foreign-delta": maker(_foreign_delta),
    "missing-id": maker(_missing_id, steady=True),
    "duplicate-id": maker(_duplicate_id, steady=True),
    "decorated-name": maker(_decorated, steady=True),
    "reused-index": maker(_reused_index, steady=True),
    "offset-index": maker(_offset_index, steady=True),
    "doubled-call": maker(_doubled, steady=True),
    "unknown-block": maker(_unknown_block, steady=True),
    "odd-id": maker(_odd_id, steady=True),
    "missing-name": maker(_missing_name, steady=True),
    "unclosed-call": maker(_unclosed, steady=True),
    "repeated-stop": maker(_repeated_stop, steady=True),
    "repeated-start": maker(_repeated_start, steady=True),
    "overlapping-blocks": maker(_overlapping, steady=True),
}
