"""Cohere v2 chat: its events and their fields as a table, for repair, faults and shapes. Only its calls are blocks."""

from __future__ import annotations

from functools import partial
from typing import Final

from toolstream_core.defects.arguments import MISNAMED_ARGUMENTS
from toolstream_core.defects.defect import COHERE, Defect
from toolstream_core.defects.finish import REPEATED_FINISH
from toolstream_core.defects.framing import DATA_AFTER_END, TOOL_CALLS_OBJECT
from toolstream_core.defects.identity import CHANGING_INDEX, MISSING_INDEX, ODD_INDEX, OFFSET_INDEX
from toolstream_core.model import Event, Json
from toolstream_core.protocols.cohere.reader import (
    CALL_DELTA,
    CALL_END,
    CALL_START,
    DONE,
    ENTRY,
    FOREIGN_INDEX,
    MESSAGE_END,
    MESSAGE_START,
    call_delta,
    call_end,
    entries,
    with_usual_key,
)
from toolstream_core.repair.blocks.faults import BlockCodec
from toolstream_core.repair.blocks.protocol import BlockEvent, BlockProtocol, IndexDefects, by_type
from toolstream_core.repair.blocks.stage import BlockDifference
from toolstream_core.repair.finish import FinishWords
from toolstream_core.repair.shapes import OF_BLOCKS
from toolstream_core.stages import framing
from toolstream_core.stages.inject.codec import What
from toolstream_core.stages.inject.injector import InjectorMaker, injectors
from toolstream_core.stages.repair.early_finish import EarlyFinishRepairer
from toolstream_core.stages.repair.incomplete_calls import IncompleteCalls
from toolstream_core.stages.repair.repairer import RepairerMaker
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_paths import put
from toolstream_core.wire.json_value import Payload
from toolstream_core.wire.write import Writer

KINDS: Final = {
    MESSAGE_START: What.HEAD,
    CALL_START: What.START,
    CALL_DELTA: What.DELTA,
    CALL_END: What.STOP,
    MESSAGE_END: What.FINISH,
}
_CONTENT: Final = ("citation-end", "citation-start", "content-delta", "content-end", "content-start", "tool-plan-delta")
_OF_CALL: Final = {
    "index": ("index",),
    "id": (*ENTRY, "id"),
    "type": (*ENTRY, "type"),
    "name": (*ENTRY, "function", "name"),
    "arguments": (*ENTRY, "function", "arguments"),
    "parameters": (*ENTRY, "function", "parameters"),
    "entry": ENTRY,
}
_TOKENS: Final = {"input_tokens": 0, "output_tokens": 0}
_USAGE: Final = {"billed_units": _TOKENS, "tokens": _TOKENS}
_CONTENT_END: Final = {"type": "content-end", "index": 0}


def split(event: BlockEvent) -> tuple[Defect | None, list[BlockEvent]]:
    """An event for each entry, its arguments under the protocol's key."""
    found, listed = entries(event.body), isinstance(json_access.get(event.body, *ENTRY), list)
    usual = [with_usual_key(one) for one in found]
    odd = any(one is not was for one, was in zip(usual, found, strict=True))
    if not (listed or odd):
        return None, [event]
    parts = [event._replace(body=put(event.body, ENTRY, one)) for one in usual]
    return TOOL_CALLS_OBJECT if listed else MISNAMED_ARGUMENTS, parts


def make(writer: Writer, what: What, body: Payload, number: int, *, line: bool) -> Frame:
    """A new frame."""
    if what is What.END:
        return writer.make(DONE, number)
    return writer.make(body, number, str(body["type"]) if line else "")


def text_block(index: Json, text: str) -> list[tuple[What, Payload]]:
    """A block of text, which has an index of its own."""
    content = {"message": {"content": {"type": "text", "text": ""}}}
    return [
        (What.START, {"type": "content-start", "index": 0, "delta": content}),
        (What.DELTA, {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": text}}}}),
        (What.STOP, _CONTENT_END),
    ]


PROTOCOL: Final = BlockProtocol(
    kinds=KINDS,
    read=by_type(KINDS, end=(DONE, "[DONE]")),
    make=make,
    split=split,
    paths={
        What.START: _OF_CALL,
        What.DELTA: _OF_CALL,
        What.STOP: {**_OF_CALL, "whole": ("delta",)},
        What.FINISH: {"reason": ("delta", "finish_reason"), "usage": ("delta", "usage")},
    },
    start={"type": "function", "arguments": ""},
    new={
        What.START: put(
            {"type": CALL_START, "index": 0},
            ENTRY,
            {"id": "", "type": "function", "function": {"name": "", "arguments": ""}},
        ),
        What.DELTA: call_delta(0, ""),
        What.STOP: call_end(0),
        What.FINISH: {"type": MESSAGE_END, "delta": {"finish_reason": "TOOL_CALL", "usage": _USAGE}},
        What.END: {},
        What.OTHER: _CONTENT_END,
        What.ERROR: {"type": MESSAGE_END, "delta": {"finish_reason": "ERROR", "error": "internal error"}},
    },
    text_block=text_block,
    usage={What.FINISH: _USAGE},
    words=FinishWords(
        called="TOOL_CALL",
        complete="COMPLETE",
        cut="MAX_TOKENS",
        filtered="",
        others=("STOP_SEQUENCE", "ERROR", "TIMEOUT"),
    ),
    index_defects=IndexDefects(missing=MISSING_INDEX, odd=ODD_INDEX, offset=OFFSET_INDEX, changing=CHANGING_INDEX),
    late_identity=True,
    calls_apart=True,
    event_lines=frozenset({*KINDS, *_CONTENT}),
    lines_by_first=True,
    repeated_finish=REPEATED_FINISH,
    after_end=DATA_AFTER_END,
    unused_index=FOREIGN_INDEX,
    bare=frozenset({"type", "index"}),
)


def _is_done(event: Event) -> bool:
    return (event.frame.data or b"").strip() == DONE


promoted = PROTOCOL.promoted
REPAIRS: Final[tuple[RepairerMaker, ...]] = (
    framing.SseRepairer,
    EarlyFinishRepairer,
    partial(BlockDifference, protocol=PROTOCOL),
)
AT_END: Final = partial(IncompleteCalls, stops=True, is_last=_is_done)
"""Clients read on after `message-end`: `[DONE]` follows it."""
INJECTORS: Final[dict[str, InjectorMaker]] = {
    **injectors(COHERE, lambda: BlockCodec(PROTOCOL)),
    **framing.INJECTORS,
}
SHAPES: Final = {**OF_BLOCKS, **framing.SHAPES}
