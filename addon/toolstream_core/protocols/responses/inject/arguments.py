"""How the arguments of Responses output items are broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.responses.inject.base import (
    ADDED,
    CLOSED,
    DELTA,
    DONE,
    ItemPlant,
    Payload,
    planter,
    said,
    value,
    with_item,
)
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.injector import Planter


def _short_closing(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    if kind == DONE:
        return [{**payload, "arguments": ""}]
    return [with_item(payload, arguments="")] if kind == CLOSED else None


def _placeholder(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or id(call) in plant.kept or plant.context.takes_none(call.name):
        return None
    plant.kept[id(call)] = True
    return [{**payload, "delta": "{}"}, payload]


def _object(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    if kind == DONE:
        return [{**payload, "arguments": value(call)}]
    return [with_item(payload, arguments=value(call))] if kind == CLOSED else None


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
        return [with_item(payload, arguments=json.dumps(call.arguments.reading()[0], ensure_ascii=False))]
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
    return _with_arguments(payload, kind, lambda text: text.replace('"}', '\n"}', 1))


def _with_arguments(payload: Payload, kind: str, change: Callable[[str], str]) -> list[Payload] | None:
    """An event that says arguments whole, as text, with others."""
    text = payload.get("arguments") if kind == DONE else json_access.get(payload, "item", "arguments")
    if kind not in {DONE, CLOSED} or not isinstance(text, str):
        return None
    return [{**payload, "arguments": change(text)} if kind == DONE else with_item(payload, arguments=change(text))]


def _garbage(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    tail = "<|endoftext|>"
    if kind == DELTA and call.arguments.whole:
        return [{**payload, "delta": f"{said(payload)}{tail[:4]}"}, {**payload, "delta": tail[4:]}]
    return _with_arguments(payload, kind, lambda text: f"{text}{tail}")


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
    return [with_item(held[0], arguments=call.arguments.reading()[0]), *held[1:], payload]


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
    return [with_item(payload, arguments="")] if kind == CLOSED else None


INJECTORS: Final[dict[str, Planter]] = {
    "lost-arguments": planter(_lost, completed=True),
    "object-arguments": planter(_object, completed=True),
    "cumulative-arguments": planter(_cumulative),
    "replayed-arguments": planter(_replayed),
    "double-encoded-arguments": planter(_double_encoded, completed=True),
    "invalid-arguments": planter(_invalid, completed=True),
    "trailing-garbage": planter(_garbage, completed=True),
    "split-surrogate": planter(_split_surrogate),
    "prefilled-arguments": planter(_prefilled),
    "missing-deltas": planter(_missing_deltas),
    "short-closing": planter(_short_closing, steady=True),
    "placeholder-arguments": planter(_placeholder),
    "short-deltas": planter(_short_deltas),
}
