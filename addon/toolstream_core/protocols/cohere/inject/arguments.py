"""How the arguments of Cohere calls are broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.cohere.inject.base import (
    CallInjector,
    maker,
    text_of,
    value,
    with_function,
    without,
)
from toolstream_core.protocols.cohere.wire import CALL_DELTA, CALL_END, CALL_START, Payload, with_arguments, with_entry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.injector import InjectorMaker

type Edited = Iterable[Payload] | None


def _lost(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector, call
    return [with_arguments(payload, "")] if kind == CALL_DELTA and text_of(payload) else None


def _null(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector, call
    return [with_arguments(payload, None)] if kind == CALL_START else None


def _object(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector
    if kind != CALL_DELTA or not text_of(payload):
        return None
    whole = value(call)
    return [with_arguments(payload, whole)] if isinstance(whole, dict) else []


def _cumulative(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    if kind != CALL_DELTA or not text_of(payload):
        return None
    before = injector.kept.get(id(call), "")
    injector.kept[id(call)] = before + text_of(payload)
    return [with_arguments(payload, before + text_of(payload))] if before else None


def _replayed(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    if kind != CALL_DELTA or not text_of(payload) or not call.arguments.whole or id(call) in injector.kept:
        return None
    injector.kept[id(call)] = True
    return [payload, with_arguments(payload, call.arguments.reading()[0])]


def _placeholder(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    if kind != CALL_DELTA or id(call) in injector.kept or not text_of(payload):
        return None
    if injector.context.takes_none(call.name):
        return None
    injector.kept[id(call)] = True
    return [with_arguments(payload, "{}"), payload]


def _double_encoded(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    if kind != CALL_DELTA or not text_of(payload):
        return None
    begun = id(call) in injector.kept
    injector.kept[id(call)] = True
    text = json.dumps(text_of(payload), ensure_ascii=False)[1:-1]
    return [with_arguments(payload, f"{'' if begun else chr(34)}{text}{chr(34) if call.arguments.whole else ''}")]


def _invalid(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    if kind != CALL_DELTA or id(call) in injector.kept or '"}' not in text_of(payload):
        return None
    injector.kept[id(call)] = True
    return [with_arguments(payload, text_of(payload).replace('"}', '\n"}', 1))]


def _garbage(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    if kind != CALL_DELTA or id(call) in injector.kept or not call.arguments.whole or not text_of(payload):
        return None
    injector.kept[id(call)] = True
    return [with_arguments(payload, f"{text_of(payload)}<|endof"), with_arguments(payload, "text|>")]


def _misnamed(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector, call
    if kind != CALL_DELTA:
        return None
    return [with_function(without(payload, "arguments"), parameters=text_of(payload))]


def _split_surrogate(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector, call
    text = text_of(payload) if kind == CALL_DELTA else ""
    at = next((place for place, character in enumerate(text) if character > "\uffff"), -1)
    if at < 0:
        return None
    high, low = divmod(ord(text[at]) - 0x10000, 0x400)
    return [
        with_arguments(payload, text[:at] + chr(0xD800 + high)),
        with_arguments(payload, chr(0xDC00 + low) + text[at + 1 :]),
    ]


def _prefilled(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    """The start waits for the arguments, carries them, and no delta comes."""
    if kind == CALL_START:
        injector.kept[id(call)] = payload
        return []
    if id(call) not in injector.kept:
        return None
    if kind == CALL_DELTA:
        return []
    return [with_arguments(injector.kept.pop(id(call)), call.arguments.reading()[0]), payload]


def _missing_deltas(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    """The arguments come with the end alone."""
    del injector
    if kind == CALL_DELTA:
        return []
    if kind != CALL_END or call.arguments.empty:
        return None
    return [with_entry(payload, {"function": {"arguments": call.arguments.reading()[0]}})]


def _cut_off(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Edited:
    del injector
    if kind != CALL_DELTA or not call.arguments.whole or not text_of(payload):
        return None
    return [with_arguments(payload, text_of(payload).rstrip()[:-1])]


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "lost-arguments": maker(_lost),
    "null-arguments": maker(_null, steady=True),
    "object-arguments": maker(_object),
    "cumulative-arguments": maker(_cumulative),
    "replayed-arguments": maker(_replayed),
    "placeholder-arguments": maker(_placeholder),
    "double-encoded-arguments": maker(_double_encoded),
    "invalid-arguments": maker(_invalid),
    "trailing-garbage": maker(_garbage),
    "misnamed-arguments": maker(_misnamed, steady=True),
    "split-surrogate": maker(_split_surrogate),
    "prefilled-arguments": maker(_prefilled),
    "missing-deltas": maker(_missing_deltas),
    "cut-off-call": maker(_cut_off),
}
