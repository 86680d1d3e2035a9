"""How Anthropic's content blocks are broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.anthropic.inject.base import DELTA, START, STOP, BlockInjector, Edit, Payload
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Json
    from toolstream_core.stages.inject.injector import InjectorMaker


def said(payload: Payload) -> str:
    """The argument text of a delta."""
    text = json_access.get(payload, "delta", "partial_json")
    return text if isinstance(text, str) else ""


def with_text(payload: Payload, text: Json) -> Payload:
    """A delta with other argument text."""
    return {**payload, "delta": {**payload["delta"], "partial_json": text}}


def _block(payload: Payload, **fields: Json) -> Payload:
    return {**payload, "content_block": {**payload["content_block"], **fields}}


def _missing_input(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    if kind != START or "input" not in payload["content_block"]:
        return None
    return [{**payload, "content_block": {k: v for k, v in payload["content_block"].items() if k != "input"}}]


def _missing_id(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    return [_block(payload, id="")] if kind == START else None


def _duplicate_id(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != START or call is injector.calls[0]:
        return None
    return [_block(payload, id=injector.calls[0].id)]


def _decorated(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != START or call.name not in injector.context.schemas:
        return None
    return [_block(payload, name=f"functions.{call.name}")]


def _missing_name(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    return [_block(payload, name="")] if kind == START else None


def _odd_id(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector
    return [_block(payload, id=f"{call.id}{'x' * 400}")] if kind == START else None


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


def _object(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector
    if kind != DELTA or not said(payload):
        return None
    whole = value(call)
    return [with_text(payload, whole)] if isinstance(whole, dict) else []


def _cumulative(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not said(payload):
        return None
    before = injector.kept.get(id(call), "")
    injector.kept[id(call)] = before + said(payload)
    return [with_text(payload, before + said(payload))] if before else None


def _replayed(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not said(payload) or not call.arguments.whole or id(call) in injector.kept:
        return None
    injector.kept[id(call)] = True
    return [payload, with_text(payload, call.arguments.reading()[0])]


def _placeholder(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or id(call) in injector.kept or not said(payload) or injector.context.takes_none(call.name):
        return None
    injector.kept[id(call)] = True
    return [with_text(payload, "{}"), payload]


def _double_encoded(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not said(payload):
        return None
    begun = id(call) in injector.kept
    injector.kept[id(call)] = True
    text = json.dumps(said(payload), ensure_ascii=False)[1:-1]
    return [with_text(payload, f"{'' if begun else chr(34)}{text}{chr(34) if call.arguments.whole else ''}")]


def _invalid(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or id(call) in injector.kept or '"}' not in said(payload):
        return None
    injector.kept[id(call)] = True
    return [with_text(payload, said(payload).replace('"}', '\n"}', 1))]


def _garbage(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or id(call) in injector.kept or not call.arguments.whole or not said(payload):
        return None
    injector.kept[id(call)] = True
    return [with_text(payload, f"{said(payload)}<|endof"), with_text(payload, "text|>")]


def _split_surrogate(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector, call
    text = said(payload) if kind == DELTA else ""
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
    return [with_text(payload, "")] if kind == DELTA and said(payload) else None


def _cut_off(injector: BlockInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del injector
    if kind != DELTA or not call.arguments.whole or not said(payload):
        return None
    return [with_text(payload, said(payload).rstrip()[:-1])]


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
    return [_block(injector.kept[id(call)], input=whole if isinstance(whole, dict) else {}), payload]


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


def value(call: OpenCall) -> Json:
    """The arguments, once they are whole."""
    if call.arguments.empty:
        return {}
    try:
        return json.loads(call.arguments.reading()[0]) if call.arguments.whole else None
    except (ValueError, RecursionError):
        return None


def _maker(edit: Edit, *, steady: bool = False) -> InjectorMaker:
    return lambda context, pick: BlockInjector(context, pick, edit, steady=steady)


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "missing-input": _maker(_missing_input, steady=True),
    "foreign-delta": _maker(_foreign_delta),
    "missing-id": _maker(_missing_id, steady=True),
    "duplicate-id": _maker(_duplicate_id, steady=True),
    "decorated-name": _maker(_decorated, steady=True),
    "reused-index": _maker(_reused_index, steady=True),
    "offset-index": _maker(_offset_index, steady=True),
    "doubled-call": _maker(_doubled, steady=True),
    "unknown-block": _maker(_unknown_block, steady=True),
    "odd-id": _maker(_odd_id, steady=True),
    "missing-name": _maker(_missing_name, steady=True),
    "lost-arguments": _maker(_lost),
    "object-arguments": _maker(_object),
    "cumulative-arguments": _maker(_cumulative),
    "replayed-arguments": _maker(_replayed),
    "placeholder-arguments": _maker(_placeholder),
    "double-encoded-arguments": _maker(_double_encoded),
    "invalid-arguments": _maker(_invalid),
    "trailing-garbage": _maker(_garbage),
    "split-surrogate": _maker(_split_surrogate),
    "prefilled-arguments": _maker(_prefilled),
    "cut-off-call": _maker(_cut_off),
    "unclosed-call": _maker(_unclosed, steady=True),
    "repeated-stop": _maker(_repeated_stop, steady=True),
    "repeated-start": _maker(_repeated_start, steady=True),
    "overlapping-blocks": _maker(_overlapping, steady=True),
}
