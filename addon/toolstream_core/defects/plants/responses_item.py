"""How Responses output items are broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from toolstream_core.defects.plants.responses_plant import (
    ADDED,
    CLOSED,
    DELTA,
    DONE,
    Edit,
    ItemPlant,
    Payload,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.plants.plant import Planter
    from toolstream_core.model import Json


def _item(payload: Payload, **fields: Json) -> Payload:
    return {**payload, "item": {**payload["item"], **fields}}


def said(payload: Payload) -> str:
    """The argument text of a delta."""
    text = payload.get("delta")
    return text if isinstance(text, str) else ""


def _missing_id(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    if kind not in {ADDED, CLOSED}:
        return None
    return [{**payload, "item": {key: value for key, value in payload["item"].items() if key != "call_id"}}]


def _rotating(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    count = plant.kept[id(call)] = plant.kept.get(id(call), 0) + 1
    if kind == ADDED:
        return None
    if kind == CLOSED:
        return [_item(payload, id=f"{payload['item'].get('id')}_{count}")]
    return [{**payload, "item_id": f"{payload.get('item_id')}_{count}"}]


def _duplicate_id(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind not in {ADDED, CLOSED} or call is plant.calls[0] or call.name == plant.calls[0].name:
        return None
    return [_item(payload, call_id=plant.calls[0].id)]


def _empty_name(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    return [_item(payload, name="")] if kind == CLOSED else None


def _decorated(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind not in {ADDED, CLOSED} or call.name not in plant.context.schemas:
        return None
    return [_item(payload, name=f"functions.{call.name}")]


def _missing_index(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, kind, call
    return [{key: value for key, value in payload.items() if key != "output_index"}]


def _reused_index(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del kind
    first = plant.calls[0]
    return None if call is first or not isinstance(first.index, int) else [{**payload, "output_index": first.index}]


def _changing_call_id(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    return [_item(payload, call_id=f"{call.id}_2")] if kind == CLOSED else None


def _missing_start(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, payload, call
    return [] if kind == ADDED else None


def _missing_name(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    return [_item(payload, name="")] if kind in {ADDED, CLOSED} else None


def _odd_id(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    if kind not in {ADDED, CLOSED}:
        return None
    return [_item(payload, call_id=f"{payload['item'].get('call_id')}{'x' * 400}")]


def _object(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    if kind == DONE:
        return [{**payload, "arguments": value(call)}]
    return [_item(payload, arguments=value(call))] if kind == CLOSED else None


def _cumulative(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not said(payload):
        return None
    before = plant.kept.get(id(call), "")
    plant.kept[id(call)] = before + said(payload)
    return [{**payload, "delta": before + said(payload)}] if before else None


def _replayed(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not call.arguments.whole or id(call) in plant.kept:
        return None
    plant.kept[id(call)] = True
    return [payload, {**payload, "delta": call.arguments.reading()[0]}]


def _double_encoded(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind == DONE:
        return [{**payload, "arguments": json.dumps(call.arguments.reading()[0], ensure_ascii=False)}]
    if kind == CLOSED:
        return [_item(payload, arguments=json.dumps(call.arguments.reading()[0], ensure_ascii=False))]
    if kind != DELTA:
        return None
    begun = id(call) in plant.kept
    plant.kept[id(call)] = True
    text = json.dumps(said(payload), ensure_ascii=False)[1:-1]
    return [{**payload, "delta": f"{'' if begun else chr(34)}{text}{chr(34) if call.arguments.whole else ''}"}]


def _invalid(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    if kind == DELTA and '"}' in said(payload):
        return [{**payload, "delta": said(payload).replace('"}', '\n"}', 1)}]
    if kind == DONE:
        return [{**payload, "arguments": payload["arguments"].replace('"}', '\n"}', 1)}]
    if kind == CLOSED:
        return [_item(payload, arguments=payload["item"]["arguments"].replace('"}', '\n"}', 1))]
    return None


def _garbage(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    tail = "<|endoftext|>"
    if kind == DELTA and call.arguments.whole:
        return [{**payload, "delta": f"{said(payload)}{tail}"}]
    if kind == DONE:
        return [{**payload, "arguments": f"{payload['arguments']}{tail}"}]
    return [_item(payload, arguments=f"{payload['item']['arguments']}{tail}")] if kind == CLOSED else None


def _split_surrogate(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    text = said(payload) if kind == DELTA else ""
    at = next((place for place, character in enumerate(text) if character > "\uffff"), -1)
    if at < 0:
        return None
    high, low = divmod(ord(text[at]) - 0x10000, 0x400)
    first = {**payload, "delta": text[:at] + chr(0xD800 + high)}
    return [first, {**payload, "delta": chr(0xDC00 + low) + text[at + 1 :]}]


def _prefilled(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """The event that adds the item waits for the arguments, and the deltas come behind it once more."""
    if kind == ADDED:
        plant.kept[id(call)] = [payload]
        return []
    held = plant.kept.get(id(call))
    if held is None:
        return None
    if kind == DELTA:
        held.append(payload)
        return []
    del plant.kept[id(call)]
    return [_item(held[0], arguments=call.arguments.reading()[0]), *held[1:], payload]


def _missing_deltas(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, payload, call
    return [] if kind == DELTA else None


def _short_deltas(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    if kind != DELTA or not call.arguments.whole or len(said(payload)) < 2:  # noqa: PLR2004
        return None
    return [{**payload, "delta": said(payload)[:-1]}]


def _lost(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    if kind == DELTA:
        return []
    if kind == DONE:
        return [{**payload, "arguments": ""}]
    return [_item(payload, arguments="")] if kind == CLOSED else None


def _unclosed(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, payload, call
    return [] if kind == CLOSED else None


def _doubled(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """The whole item once more, at a place of its own, right behind it."""
    if kind == ADDED:
        plant.kept[id(call)] = payload
        return None
    if kind != CLOSED or id(call) not in plant.kept:
        return None
    added = plant.kept.pop(id(call))
    place = {"output_index": 100 + call.position}
    other = f"{payload['item'].get('id')}_again"
    text = call.arguments.reading()[0]
    number = {"sequence_number": payload["sequence_number"]} if "sequence_number" in payload else {}
    return [
        payload,
        {**_item(added, id=other), **place},
        {"type": DELTA, "item_id": other, **place, **number, "delta": text},
        {"type": DONE, "item_id": other, **place, **number, "arguments": text},
        {**_item(payload, id=other), **place},
    ]


def _per_fragment(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """Each delta has an item of its own, added and closed around it."""
    if kind == ADDED:
        plant.kept[id(call)] = (payload["item"], 0)
        return []
    if kind != DELTA or id(call) not in plant.kept:
        return [] if kind in {DONE, CLOSED} else None
    item, count = plant.kept[id(call)]
    plant.kept[id(call)] = (item, count + 1)
    own = {**item, "id": f"{item.get('id')}_{count}"}
    place = {"output_index": 10 * call.position + count}
    number = {"sequence_number": payload["sequence_number"]} if "sequence_number" in payload else {}
    return [
        {"type": ADDED, **number, **place, "item": own},
        {**payload, **place, "item_id": own["id"]},
        {"type": CLOSED, **number, **place, "item": {**own, "status": "completed", "arguments": said(payload)}},
    ]


def value(call: OpenCall) -> Json:
    """The arguments, as they were meant."""
    try:
        return json.loads(call.arguments.reading()[0])
    except (ValueError, RecursionError):
        return {}


def _planter(edit: Edit, *, completed: bool = False, steady: bool = False) -> Planter:
    return lambda context, pick: ItemPlant(context, pick, edit, completed=completed, steady=steady)


PLANTS: Final[dict[str, Planter]] = {
    "missing-id": _planter(_missing_id, completed=True, steady=True),
    "rotating-item-id": _planter(_rotating),
    "duplicate-id": _planter(_duplicate_id, completed=True, steady=True),
    "empty-name": _planter(_empty_name, steady=True),
    "decorated-name": _planter(_decorated, completed=True, steady=True),
    "missing-index": _planter(_missing_index, steady=True),
    "reused-index": _planter(_reused_index, steady=True),
    "doubled-call": _planter(_doubled, steady=True),
    "changing-call-id": _planter(_changing_call_id, steady=True),
    "item-per-fragment": _planter(_per_fragment),
    "odd-id": _planter(_odd_id, completed=True, steady=True),
    "missing-name": _planter(_missing_name, completed=True, steady=True),
    "missing-start": _planter(_missing_start, steady=True),
    "lost-arguments": _planter(_lost, completed=True),
    "object-arguments": _planter(_object, completed=True),
    "cumulative-arguments": _planter(_cumulative),
    "replayed-arguments": _planter(_replayed),
    "double-encoded-arguments": _planter(_double_encoded, completed=True),
    "invalid-arguments": _planter(_invalid, completed=True),
    "trailing-garbage": _planter(_garbage, completed=True),
    "split-surrogate": _planter(_split_surrogate),
    "prefilled-arguments": _planter(_prefilled),
    "missing-deltas": _planter(_missing_deltas),
    "short-deltas": _planter(_short_deltas),
    "unclosed-call": _planter(_unclosed, steady=True),
}
