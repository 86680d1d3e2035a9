"""How the identity of Responses output items is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.responses.inject.base import (
    ADDED,
    CLOSED,
    DELTA,
    DONE,
    ItemInjector,
    Payload,
    delta_text,
    maker,
    with_item,
)
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.injector import InjectorMaker


def _without(fields: Payload, key: str) -> Payload:
    return {name: value for name, value in fields.items() if name != key}


def _with(payload: Payload, kind: str, **fields: str) -> Iterable[Payload] | None:
    """The event with other fields in its item; events of arguments have some of them beside the item (Realtime)."""
    if kind in {ADDED, CLOSED}:
        return [with_item(payload, **fields)]
    return [{**payload, **fields}] if fields.keys() <= payload.keys() else None


def _missing_id(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    if kind not in {ADDED, CLOSED}:
        return [_without(payload, "call_id")] if "call_id" in payload else None
    return [{**payload, "item": _without(payload["item"], "call_id")}]


def _rotating(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    count = injector.kept[id(call)] = injector.kept.get(id(call), 0) + 1
    if kind == ADDED:
        return None
    if kind == CLOSED:
        return [with_item(payload, id=f"{payload['item'].get('id')}_{count}")]
    return [{**payload, "item_id": f"{payload.get('item_id')}_{count}"}]


def _duplicate_id(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if call is injector.calls[0] or call.name == injector.calls[0].name:
        return None
    return _with(payload, kind, call_id=injector.calls[0].id)


def _empty_name(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    return [with_item(payload, name="")] if kind == CLOSED else None


def _decorated(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if call.name not in injector.context.schemas:
        return None
    return _with(payload, kind, name=f"functions.{call.name}")


def _missing_index(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, kind, call
    return [_without(payload, "output_index")]


def _reused_index(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del kind
    first = injector.calls[0]
    return None if call is first or not isinstance(first.index, int) else [{**payload, "output_index": first.index}]


def _changing_call_id(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector
    return [with_item(payload, call_id=f"{call.id}_2")] if kind == CLOSED else None


def _missing_start(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, payload, call
    return [] if kind == ADDED else None


def _missing_name(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    return _with(payload, kind, name="")


def _late_name(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    return [with_item(payload, name="")] if kind == ADDED else None


def _repeated_start(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    return [payload, payload] if kind == ADDED else None


def _repeated_stop(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    return [payload, payload] if kind == CLOSED else None


def _odd_id(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    call_id = json_access.get(payload, "call_id") or json_access.get(payload, "item", "call_id")
    return _with(payload, kind, call_id=f"{call_id}{'x' * 400}")


def _unclosed(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, payload, call
    return [] if kind == CLOSED else None


def _doubled(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """The whole item once more, at a place of its own, right behind it."""
    if kind == ADDED:
        injector.kept[id(call)] = payload
        return None
    if kind != CLOSED or id(call) not in injector.kept:
        return None
    added = injector.kept.pop(id(call))
    place = {"output_index": 100 + call.position}
    other = f"{payload['item'].get('id')}_again"
    text = call.arguments.reading()[0]
    number = {"sequence_number": payload["sequence_number"]} if "sequence_number" in payload else {}
    return [
        payload,
        {**with_item(added, id=other), **place},
        {"type": DELTA, "item_id": other, **place, **number, "delta": text},
        {"type": DONE, "item_id": other, **place, **number, "arguments": text},
        {**with_item(payload, id=other), **place},
    ]


def _per_fragment(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """Each delta has an item of its own, added and closed around it."""
    if kind == ADDED:
        injector.kept[id(call)] = (payload["item"], 0)
        return []
    if kind != DELTA or id(call) not in injector.kept:
        return [] if kind in {DONE, CLOSED} else None
    item, count = injector.kept[id(call)]
    injector.kept[id(call)] = (item, count + 1)
    own = {**item, "id": f"{item.get('id')}_{count}"}
    place = {"output_index": 10 * call.position + count}
    number = {"sequence_number": payload["sequence_number"]} if "sequence_number" in payload else {}
    return [
        {"type": ADDED, **number, **place, "item": own},
        {**payload, **place, "item_id": own["id"]},
        {"type": CLOSED, **number, **place, "item": {**own, "status": "completed", "arguments": delta_text(payload)}},
    ]


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "missing-id": maker(_missing_id, completed=True, steady=True),
    "rotating-item-id": maker(_rotating),
    "duplicate-id": maker(_duplicate_id, completed=True, steady=True),
    "empty-name": maker(_empty_name, steady=True),
    "decorated-name": maker(_decorated, completed=True, steady=True),
    "missing-index": maker(_missing_index, steady=True),
    "reused-index": maker(_reused_index, steady=True),
    "doubled-call": maker(_doubled, steady=True),
    "changing-call-id": maker(_changing_call_id, steady=True),
    "item-per-fragment": maker(_per_fragment),
    "odd-id": maker(_odd_id, completed=True, steady=True),
    "missing-name": maker(_missing_name, completed=True, steady=True),
    "late-name": maker(_late_name, steady=True),
    "repeated-start": maker(_repeated_start, steady=True),
    "repeated-stop": maker(_repeated_stop, steady=True),
    "missing-start": maker(_missing_start, steady=True),
    "unclosed-call": maker(_unclosed, steady=True),
}
