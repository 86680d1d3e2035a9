"""How the arguments in Anthropic's content blocks are broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.anthropic.inject.base import (
    DELTA,
    START,
    BlockInjector,
    Payload,
    arguments_of,
    maker,
    value,
    with_block,
    with_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.injector import InjectorMaker


def _object(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector
    if kind != DELTA or not arguments_of(payload):
        return None
    whole = value(call)
    return [with_text(payload, whole)] if isinstance(whole, dict) else []


def _cumulative(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not arguments_of(payload):
        return None
    before = injector.kept.get(id(call), "")
    injector.kept[id(call)] = before + arguments_of(payload)
    return [with_text(payload, before + arguments_of(payload))] if before else None


def _replayed(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not arguments_of(payload) or not call.arguments.whole or id(call) in injector.kept:
        return None
    injector.kept[id(call)] = True
    return [payload, with_text(payload, call.arguments.reading()[0])]


def _placeholder(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if (
        kind != DELTA
        or id(call) in injector.kept
        or not arguments_of(payload)
        or injector.context.takes_none(call.name)
    ):
        return None
    injector.kept[id(call)] = True
    return [with_text(payload, "{}"), payload]


def _double_encoded(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not arguments_of(payload):
        return None
    begun = id(call) in injector.kept
    injector.kept[id(call)] = True
    text = json.dumps(arguments_of(payload), ensure_ascii=False)[1:-1]
    return [with_text(payload, f"{'' if begun else chr(34)}{text}{chr(34) if call.arguments.whole else ''}")]


def _invalid(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or id(call) in injector.kept or '"}' not in arguments_of(payload):
        return None
    injector.kept[id(call)] = True
    return [with_text(payload, arguments_of(payload).replace('"}', '\n"}', 1))]


def _garbage(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or id(call) in injector.kept or not call.arguments.whole or not arguments_of(payload):
        return None
    injector.kept[id(call)] = True
    return [with_text(payload, f"{arguments_of(payload)}<|endof"), with_text(payload, "text|>")]


def _split_surrogate(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    text = arguments_of(payload) if kind == DELTA else ""
    at = next((place for place, character in enumerate(text) if character > "\uffff"), -1)
    if at < 0:
        return None
    high, low = divmod(ord(text[at]) - 0x10000, 0x400)
    return [
        with_text(payload, text[:at] + chr(0xD800 + high)),
        with_text(payload, chr(0xDC00 + low) + text[at + 1 :]),
    ]


def _lost(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    return [with_text(payload, "")] if kind == DELTA and arguments_of(payload) else None


def _cut_off(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector
    if kind != DELTA or not call.arguments.whole or not arguments_of(payload):
        return None
    return [with_text(payload, arguments_of(payload).rstrip()[:-1])]


def _prefilled(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """The start waits for the arguments, carries them, and no delta comes."""
    if kind == START:
        injector.kept[id(call)] = payload
        return []
    if id(call) not in injector.kept:
        return None
    if kind == DELTA:
        return []
    whole = value(call)
    return [with_block(injector.kept[id(call)], input=whole if isinstance(whole, dict) else {}), payload]


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "lost-arguments": maker(_lost),
    "object-arguments": maker(_object),
    "cumulative-arguments": maker(_cumulative),
    "replayed-arguments": maker(_replayed),
    "placeholder-arguments": maker(_placeholder),
    "double-encoded-arguments": maker(_double_encoded),
    "invalid-arguments": maker(_invalid),
    "trailing-garbage": maker(_garbage),
    "split-surrogate": maker(_split_surrogate),
    "prefilled-arguments": maker(_prefilled),
    "cut-off-call": maker(_cut_off),
}
