"""How the arguments of Converse calls are broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.bedrock.converse_event import BLOCK_DELTA, BLOCK_START, ConverseEvent
from toolstream_core.protocols.bedrock.inject.base import BlockInjector, Said, injector, said_input, value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Json
    from toolstream_core.stages.inject.injector import InjectorMaker

type Edited = Iterable[Said] | None


def _with(event: ConverseEvent, *texts: Json) -> list[Said]:
    """Deltas with other argument text."""
    return [(BLOCK_DELTA, {**event.body, "delta": {"toolUse": {"input": text}}}) for text in texts]


def _object(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    del injector
    if not said_input(event):
        return None
    whole = value(call)
    return _with(event, whole) if isinstance(whole, dict) else []


def _cumulative(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    text, before = said_input(event), injector.kept.get(id(call), "")
    injector.kept[id(call)] = before + text
    return _with(event, before + text) if text and before else None


def _replayed(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    text = said_input(event)
    if not text or not call.arguments.whole or id(call) in injector.kept:
        return None
    injector.kept[id(call)] = True
    return _with(event, text, call.arguments.reading()[0])


def _placeholder(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    text = said_input(event)
    if not text or id(call) in injector.kept or injector.context.takes_none(call.name):
        return None
    injector.kept[id(call)] = True
    return _with(event, "{}", text)


def _double_encoded(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    if not said_input(event):
        return None
    begun = id(call) in injector.kept
    injector.kept[id(call)] = True
    text = json.dumps(said_input(event), ensure_ascii=False)[1:-1]
    return _with(event, f"{'' if begun else chr(34)}{text}{chr(34) if call.arguments.whole else ''}")


def _invalid(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    text = said_input(event)
    if id(call) in injector.kept or '"}' not in text:
        return None
    injector.kept[id(call)] = True
    return _with(event, text.replace('"}', '\n"}', 1))


def _garbage(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    text = said_input(event)
    if not text or id(call) in injector.kept or not call.arguments.whole:
        return None
    injector.kept[id(call)] = True
    return _with(event, f"{text}<|endof", "text|>")


def _split_surrogate(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    del injector, call
    text = said_input(event)
    at = next((place for place, character in enumerate(text) if character > "\uffff"), -1)
    if at < 0:
        return None
    high, low = divmod(ord(text[at]) - 0x10000, 0x400)
    return _with(event, text[:at] + chr(0xD800 + high), chr(0xDC00 + low) + text[at + 1 :])


def _lost(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    del injector, call
    return _with(event, "") if said_input(event) else None


def _cut_off(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    del injector
    text = said_input(event)
    return _with(event, text.rstrip()[:-1]) if text and call.arguments.whole else None


def _prefilled(injector: BlockInjector, event: ConverseEvent, call: OpenCall) -> Edited:
    """The start waits for the arguments, carries them, and no delta comes."""
    if event.kind == BLOCK_START:
        injector.kept[id(call)] = event.body
        return []
    if id(call) not in injector.kept:
        return None
    if event.kind == BLOCK_DELTA:
        return []
    whole, begun = value(call), injector.kept.pop(id(call))
    tool = {**begun["start"]["toolUse"], "input": whole if isinstance(whole, dict) else {}}
    return [(BLOCK_START, {**begun, "start": {"toolUse": tool}}), (event.kind, event.body)]


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "lost-arguments": injector(_lost),
    "object-arguments": injector(_object),
    "cumulative-arguments": injector(_cumulative),
    "replayed-arguments": injector(_replayed),
    "placeholder-arguments": injector(_placeholder),
    "double-encoded-arguments": injector(_double_encoded),
    "invalid-arguments": injector(_invalid),
    "trailing-garbage": injector(_garbage),
    "split-surrogate": injector(_split_surrogate),
    "prefilled-arguments": injector(_prefilled),
    "cut-off-call": injector(_cut_off),
}
