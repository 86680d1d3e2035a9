"""How the arguments of Responses output items are broken."""

from __future__ import annotations

import json
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
from toolstream_core.stages.inject import argument_text
from toolstream_core.stages.inject.argument_text import whole_arguments
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.injector import InjectorMaker


def _short_closing(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    if kind == DONE:
        return [{**payload, "arguments": ""}]
    return [with_item(payload, arguments="")] if kind == CLOSED else None


def _placeholder(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or call.name in injector.context.parameterless or not injector.first_time(call):
        return None
    return [{**payload, "delta": "{}"}, payload]


def _object(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector
    if kind == DONE:
        return [{**payload, "arguments": whole_arguments(call) or {}}]
    return [with_item(payload, arguments=whole_arguments(call) or {})] if kind == CLOSED else None


def _cumulative(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not delta_text(payload):
        return None
    before = injector.kept.get(id(call), "")
    injector.kept[id(call)] = before + delta_text(payload)
    return [{**payload, "delta": before + delta_text(payload)}] if before else None


def _replayed(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not call.arguments.whole or not injector.first_time(call):
        return None
    return [payload, {**payload, "delta": call.arguments.reading()[0]}]


def _double_encoded(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind == DONE:
        return [{**payload, "arguments": json.dumps(call.arguments.reading()[0], ensure_ascii=False)}]
    if kind == CLOSED:
        return [with_item(payload, arguments=json.dumps(call.arguments.reading()[0], ensure_ascii=False))]
    if kind != DELTA:
        return None
    first, last = injector.first_time(call), call.arguments.whole
    return [{**payload, "delta": argument_text.double_encoded(delta_text(payload), first=first, last=last)}]


def _invalid(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    if kind == DELTA and '"}' in delta_text(payload):
        return [{**payload, "delta": delta_text(payload).replace('"}', '\n"}', 1)}]
    return _with_arguments(payload, kind, lambda text: text.replace('"}', '\n"}', 1))


def _with_arguments(payload: Payload, kind: str, change: Callable[[str], str]) -> list[Payload] | None:
    """An event with the whole arguments as text, with changed ones."""
    text = payload.get("arguments") if kind == DONE else json_access.get(payload, "item", "arguments")
    if kind not in {DONE, CLOSED} or not isinstance(text, str):
        return None
    return [{**payload, "arguments": change(text)} if kind == DONE else with_item(payload, arguments=change(text))]


def _garbage(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector
    tail = "<|endoftext|>"
    if kind == DELTA and call.arguments.whole:
        return [{**payload, "delta": f"{delta_text(payload)}{tail[:4]}"}, {**payload, "delta": tail[4:]}]
    return _with_arguments(payload, kind, lambda text: f"{text}{tail}")


def _split_surrogate(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    halves = argument_text.split_surrogates(delta_text(payload)) if kind == DELTA else None
    return None if halves is None else [{**payload, "delta": half} for half in halves]


def _prefilled(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """The event that adds the item is held until the arguments are whole and has them; the deltas follow it."""
    if kind == ADDED:
        injector.kept[id(call)] = [payload]
        return []
    held = injector.kept.get(id(call))
    if held is None:
        return None
    if kind == DELTA:
        held.append(payload)
        return []
    del injector.kept[id(call)]
    return [with_item(held[0], arguments=call.arguments.reading()[0]), *held[1:], payload]


def _missing_deltas(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, payload, call
    return [] if kind == DELTA else None


def _short_deltas(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector
    if kind != DELTA or not call.arguments.whole or len(delta_text(payload)) < 2:  # noqa: PLR2004
        return None
    return [{**payload, "delta": delta_text(payload)[:-1]}]


def _lost(injector: ItemInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    if kind == DELTA:
        return []
    if kind == DONE:
        return [{**payload, "arguments": ""}]
    return [with_item(payload, arguments="")] if kind == CLOSED else None


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "lost-arguments": maker(_lost, completed=True),
    "object-arguments": maker(_object, completed=True),
    "cumulative-arguments": maker(_cumulative),
    "replayed-arguments": maker(_replayed),
    "double-encoded-arguments": maker(_double_encoded, completed=True),
    "invalid-arguments": maker(_invalid, completed=True),
    "trailing-garbage": maker(_garbage, completed=True),
    "split-surrogate": maker(_split_surrogate),
    "prefilled-arguments": maker(_prefilled),
    "missing-deltas": maker(_missing_deltas),
    "short-closing": maker(_short_closing, steady=True),
    "placeholder-arguments": maker(_placeholder),
    "short-deltas": maker(_short_deltas),
}
