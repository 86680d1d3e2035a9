"""How Anthropic's content blocks are broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.anthropic.inject.base import DELTA, START, STOP, BlockPlant, Edit, Payload
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Json
    from toolstream_core.stages.inject.injector import Planter


def said(payload: Payload) -> str:
    """The argument text of a delta."""
    text = json_access.get(payload, "delta", "partial_json")
    return text if isinstance(text, str) else ""


def with_text(payload: Payload, text: Json) -> Payload:
    """A delta with other argument text."""
    return {**payload, "delta": {**payload["delta"], "partial_json": text}}


def _block(payload: Payload, **fields: Json) -> Payload:
    return {**payload, "content_block": {**payload["content_block"], **fields}}


def _missing_input(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    if kind != START or "input" not in payload["content_block"]:
        return None
    return [{**payload, "content_block": {k: v for k, v in payload["content_block"].items() if k != "input"}}]


def _missing_id(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    return [_block(payload, id="")] if kind == START else None


def _duplicate_id(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != START or call is plant.calls[0]:
        return None
    return [_block(payload, id=plant.calls[0].id)]


def _decorated(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != START or call.name not in plant.context.schemas:
        return None
    return [_block(payload, name=f"functions.{call.name}")]


def _missing_name(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    return [_block(payload, name="")] if kind == START else None


def _odd_id(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    return [_block(payload, id=f"{call.id}{'x' * 400}")] if kind == START else None


def _reused_index(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del kind
    first = plant.calls[0] if plant.calls else call
    return None if call is first or not isinstance(first.index, int) else [{**payload, "index": first.index}]


def _offset_index(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, kind, call
    index = payload.get("index")
    return [{**payload, "index": index + 1}] if isinstance(index, int) else None


def _unknown_block(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """Deltas and stop carry an index that was never started."""
    del plant
    return None if kind == START else [{**payload, "index": 100 + call.position}]


def _object(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    if kind != DELTA or not said(payload):
        return None
    whole = value(call)
    return [with_text(payload, whole)] if isinstance(whole, dict) else []


def _cumulative(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not said(payload):
        return None
    before = plant.kept.get(id(call), "")
    plant.kept[id(call)] = before + said(payload)
    return [with_text(payload, before + said(payload))] if before else None


def _replayed(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not said(payload) or not call.arguments.whole or id(call) in plant.kept:
        return None
    plant.kept[id(call)] = True
    return [payload, with_text(payload, call.arguments.reading()[0])]


def _placeholder(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or id(call) in plant.kept or not said(payload) or plant.context.takes_none(call.name):
        return None
    plant.kept[id(call)] = True
    return [with_text(payload, "{}"), payload]


def _double_encoded(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not said(payload):
        return None
    begun = id(call) in plant.kept
    plant.kept[id(call)] = True
    text = json.dumps(said(payload), ensure_ascii=False)[1:-1]
    return [with_text(payload, f"{'' if begun else chr(34)}{text}{chr(34) if call.arguments.whole else ''}")]


def _invalid(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or id(call) in plant.kept or '"}' not in said(payload):
        return None
    plant.kept[id(call)] = True
    return [with_text(payload, said(payload).replace('"}', '\n"}', 1))]


def _garbage(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or id(call) in plant.kept or not call.arguments.whole or not said(payload):
        return None
    plant.kept[id(call)] = True
    return [with_text(payload, f"{said(payload)}<|endof"), with_text(payload, "text|>")]


def _split_surrogate(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    text = said(payload) if kind == DELTA else ""
    at = next((place for place, character in enumerate(text) if character > "\uffff"), -1)
    if at < 0:
        return None
    high, low = divmod(ord(text[at]) - 0x10000, 0x400)
    return [
        with_text(payload, text[:at] + chr(0xD800 + high)),
        with_text(payload, chr(0xDC00 + low) + text[at + 1 :]),
    ]


def _lost(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    return [with_text(payload, "")] if kind == DELTA and said(payload) else None


def _cut_off(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    if kind != DELTA or not call.arguments.whole or not said(payload):
        return None
    return [with_text(payload, said(payload).rstrip()[:-1])]


def _prefilled(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """The start waits for the arguments, carries them, and no delta comes."""
    if kind == START:
        plant.kept[id(call)] = payload
        return []
    if id(call) not in plant.kept:
        return None
    if kind == DELTA:
        return []
    whole = value(call)
    return [_block(plant.kept[id(call)], input=whole if isinstance(whole, dict) else {}), payload]


def _foreign_delta(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or id(call) in plant.kept:
        return None
    plant.kept[id(call)] = True
    return [payload, {**payload, "delta": {"type": "text_delta", "text": "\n"}}]


def _unclosed(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, payload, call
    return [] if kind == STOP else None


def _repeated_stop(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    return [payload, payload] if kind == STOP else None


def _repeated_start(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind == START:
        plant.kept[id(call)] = payload
        return None
    start = plant.kept.pop(id(call), None)
    return [start, payload] if kind == DELTA and start is not None else None


def _overlapping(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """Stops come only when all blocks are over."""
    del call
    if kind != STOP:
        return None
    plant.late.append(payload)
    return []


def _doubled(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """The whole call once more, in a block of its own, right behind it."""
    if kind == START:
        plant.kept[id(call)] = payload
        return None
    if kind != STOP or id(call) not in plant.kept:
        return None
    place = {"index": 100 + call.position}
    delta = {"type": "input_json_delta", "partial_json": call.arguments.reading()[0]}
    return [
        payload,
        {**plant.kept.pop(id(call)), **place},
        {"type": DELTA, **place, "delta": delta},
        {"type": STOP, **place},
    ]


def value(call: OpenCall) -> Json:
    """The arguments, once they are whole."""
    if call.arguments.empty:
        return {}
    try:
        return json.loads(call.arguments.reading()[0]) if call.arguments.whole else None
    except (ValueError, RecursionError):
        return None


def _planter(edit: Edit, *, steady: bool = False) -> Planter:
    return lambda context, pick: BlockPlant(context, pick, edit, steady=steady)


INJECTORS: Final[dict[str, Planter]] = {
    "missing-input": _planter(_missing_input, steady=True),
    "foreign-delta": _planter(_foreign_delta),
    "missing-id": _planter(_missing_id, steady=True),
    "duplicate-id": _planter(_duplicate_id, steady=True),
    "decorated-name": _planter(_decorated, steady=True),
    "reused-index": _planter(_reused_index, steady=True),
    "offset-index": _planter(_offset_index, steady=True),
    "doubled-call": _planter(_doubled, steady=True),
    "unknown-block": _planter(_unknown_block, steady=True),
    "odd-id": _planter(_odd_id, steady=True),
    "missing-name": _planter(_missing_name, steady=True),
    "lost-arguments": _planter(_lost),
    "object-arguments": _planter(_object),
    "cumulative-arguments": _planter(_cumulative),
    "replayed-arguments": _planter(_replayed),
    "placeholder-arguments": _planter(_placeholder),
    "double-encoded-arguments": _planter(_double_encoded),
    "invalid-arguments": _planter(_invalid),
    "trailing-garbage": _planter(_garbage),
    "split-surrogate": _planter(_split_surrogate),
    "prefilled-arguments": _planter(_prefilled),
    "cut-off-call": _planter(_cut_off),
    "unclosed-call": _planter(_unclosed, steady=True),
    "repeated-stop": _planter(_repeated_stop, steady=True),
    "repeated-start": _planter(_repeated_start, steady=True),
    "overlapping-blocks": _planter(_overlapping, steady=True),
}
