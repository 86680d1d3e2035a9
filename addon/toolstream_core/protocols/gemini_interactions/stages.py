"""Gemini's Interactions API: its events and their fields as a table, for repair, faults and shapes."""

from __future__ import annotations

from functools import partial
from typing import Final

from toolstream_core.defects.defect import GEMINI_INTERACTIONS
from toolstream_core.defects.identity import MISSING_INDEX, OFFSET_INDEX, UNKNOWN_BLOCK
from toolstream_core.model import Json
from toolstream_core.protocols.gemini_interactions.reader import (
    ARGUMENTS_DELTA,
    CALL,
    COMPLETED,
    CREATED,
    DELTA,
    DONE,
    EVENTS,
    START,
    STOP,
)
from toolstream_core.repair.blocks.faults import BlockCodec
from toolstream_core.repair.blocks.protocol import BlockProtocol, IndexDefects, by_type
from toolstream_core.repair.blocks.stage import BlockDifference
from toolstream_core.repair.finish import FinishWords
from toolstream_core.repair.shapes import OF_BLOCKS
from toolstream_core.stages import framing
from toolstream_core.stages.inject.codec import What
from toolstream_core.stages.inject.injector import InjectorMaker, injectors
from toolstream_core.stages.repair.incomplete_calls import IncompleteCalls
from toolstream_core.stages.repair.repairer import RepairerMaker
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import Payload
from toolstream_core.wire.write import Writer

KINDS: Final = {
    CREATED: What.HEAD,
    START: What.START,
    DELTA: What.DELTA,
    STOP: What.STOP,
    COMPLETED: What.FINISH,
}
_INTERACTION: Final = ("interaction",)


def make(writer: Writer, what: What, body: Payload, number: int, *, line: bool) -> Frame:
    """A new frame."""
    if what is What.END:
        return writer.make(DONE, number, "done" if line else "")
    return writer.make(body, number, str(body["event_type"]) if line else "")


def text_block(index: Json, text: str) -> list[tuple[What, Payload]]:
    """A step of text."""
    return [
        (What.START, {"index": index, "step": {"type": "model_output"}, "event_type": START}),
        (What.DELTA, {"index": index, "delta": {"text": text, "type": "text"}, "event_type": DELTA}),
        (What.STOP, {"index": index, "event_type": STOP}),
    ]


PROTOCOL: Final = BlockProtocol(
    kinds=KINDS,
    read=by_type(KINDS, "event_type", (DONE, "done")),
    make=make,
    paths={
        What.HEAD: {"id": (*_INTERACTION, "id")},
        What.START: {
            "index": ("index",),
            "id": ("step", "id"),
            "name": ("step", "name"),
            "arguments": ("step", "arguments"),
            "type": ("step", "type"),
        },
        What.DELTA: {"index": ("index",), "arguments": ("delta", "arguments"), "delta_type": ("delta", "type")},
        What.STOP: {"index": ("index",)},
        What.FINISH: {"id": (*_INTERACTION, "id"), "reason": (*_INTERACTION, "status")},
    },
    start={"arguments": {}},
    new={
        What.START: {
            "index": 0,
            "step": {"id": "", "type": CALL, "name": "", "arguments": {}},
            "event_type": START,
        },
        What.DELTA: {"index": 0, "delta": {"arguments": "", "type": ARGUMENTS_DELTA}, "event_type": DELTA},
        What.STOP: {"index": 0, "event_type": STOP},
        What.FINISH: {
            "interaction": {"id": "", "status": "requires_action", "object": "interaction"},
            "event_type": COMPLETED,
        },
        What.END: {},
        What.ERROR: {
            "error": {"message": "Deadline expired before operation could complete.", "code": "gateway_timeout"},
            "event_type": "error",
        },
    },
    text_block=text_block,
    usage={},
    words=FinishWords(
        called="requires_action",
        complete="completed",
        cut="incomplete",
        filtered="",
        others=(
            *("in_progress", "failed", "cancelled", "budget_exceeded", "queued", "idle"),
            "requires_continuation",
        ),
    ),
    index_defects=IndexDefects(missing=MISSING_INDEX, odd=OFFSET_INDEX, offset=OFFSET_INDEX, changing=UNKNOWN_BLOCK),
    event_lines=frozenset({*EVENTS, "error"}),
    lines_by_first=True,
    bare=frozenset({"event_type", "index", "event_id"}),
)
promoted = PROTOCOL.promoted
REPAIRS: Final[tuple[RepairerMaker, ...]] = (framing.SseRepairer, partial(BlockDifference, protocol=PROTOCOL))
AT_END: Final = partial(IncompleteCalls, stops=True)
INJECTORS: Final[dict[str, InjectorMaker]] = {
    **injectors(GEMINI_INTERACTIONS, lambda: BlockCodec(PROTOCOL)),
    **framing.INJECTORS,
}
SHAPES: Final = {**OF_BLOCKS, **framing.SHAPES}
