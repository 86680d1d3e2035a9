"""Amazon Bedrock ConverseStream: its events and their fields as a table, for repair, faults and shapes."""

from __future__ import annotations

from functools import partial
from typing import Final

from toolstream_core.defects.defect import BEDROCK, WARNING
from toolstream_core.defects.finish import REPEATED_STOP
from toolstream_core.defects.identity import MISSING_INDEX, ODD_INDEX, UNKNOWN_BLOCK
from toolstream_core.model import Json
from toolstream_core.protocols.bedrock import reader
from toolstream_core.protocols.bedrock.reader import BLOCK_DELTA, BLOCK_START, BLOCK_STOP, INDEX
from toolstream_core.repair.blocks.faults import BlockCodec
from toolstream_core.repair.blocks.protocol import BlockEvent, BlockProtocol, IndexDefects
from toolstream_core.repair.blocks.stage import BlockDifference
from toolstream_core.repair.finish import FinishWords
from toolstream_core.repair.identity import STRICT_ID
from toolstream_core.repair.shapes import OF_BLOCKS
from toolstream_core.stages.inject.codec import What
from toolstream_core.stages.inject.injector import InjectorMaker, injectors
from toolstream_core.stages.repair.early_finish import EarlyFinishRepairer
from toolstream_core.stages.repair.incomplete_calls import IncompleteCalls
from toolstream_core.stages.repair.repairer import RepairerMaker
from toolstream_core.wire.aws_event_stream import CHUNK
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import Payload
from toolstream_core.wire.write import Writer

KINDS: Final = {
    reader.START: What.HEAD,
    BLOCK_START: What.START,
    BLOCK_DELTA: What.DELTA,
    BLOCK_STOP: What.STOP,
    reader.STOP: What.FINISH,
    reader.METADATA: What.TAIL,
}
WORDS: Final = {**{what: kind for kind, what in KINDS.items()}, What.ERROR: "serviceUnavailableException"}
_TOOL: Final = ("start", "toolUse")


def read(frame: Frame) -> BlockEvent | None:
    """The kind of a frame."""
    event = reader.event_of(frame)
    return None if event is None else BlockEvent(KINDS[event.kind], event.kind, event.body)


def make(writer: Writer, what: What, body: Payload, number: int, *, line: bool) -> Frame:
    """A new frame."""
    kind = WORDS[what]
    return writer.make({kind: body}, number, CHUNK) if line else writer.make(body, number, kind)


def wrapped(frame: Frame, body: Payload) -> Payload:
    """The payload of a frame with another body."""
    event = reader.event_of(frame)
    return body if event is None else event.with_body(body)


def keyed(frame: Frame) -> bool:
    """Whether an event's name is a key of its data."""
    event = reader.event_of(frame)
    return event is not None and event.keyed


def text_block(index: Json, text: str) -> list[tuple[What, Payload]]:
    """A block of text, which nothing starts."""
    return [(What.DELTA, {INDEX: index, "delta": {"text": text}}), (What.STOP, {INDEX: index})]


PROTOCOL: Final = BlockProtocol(
    kinds=KINDS,
    read=read,
    make=make,
    keyed=keyed,
    wrapped=wrapped,
    paths={
        What.START: {
            "index": (INDEX,),
            "id": (*_TOOL, "toolUseId"),
            "name": (*_TOOL, "name"),
            "arguments": (*_TOOL, "input"),
        },
        What.DELTA: {"index": (INDEX,), "arguments": ("delta", "toolUse", "input")},
        What.STOP: {"index": (INDEX,)},
        What.FINISH: {"reason": ("stopReason",)},
        What.TAIL: {"usage": ("usage",)},
        What.OTHER: {"index": (INDEX,)},
    },
    start={},
    new={
        What.START: {INDEX: 0, "start": {"toolUse": {"toolUseId": "", "name": ""}}},
        What.DELTA: {INDEX: 0, "delta": {"toolUse": {"input": ""}}},
        What.STOP: {INDEX: 0},
        What.FINISH: {"stopReason": "tool_use"},
        What.ERROR: {"message": "Overloaded"},
    },
    text_block=text_block,
    usage={What.TAIL: {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}},
    words=FinishWords(
        called="tool_use", complete="end_turn", cut="max_tokens", filtered="content_filtered", others=("stop_sequence",)
    ),
    index_defects=IndexDefects(missing=MISSING_INDEX, odd=ODD_INDEX, offset=None, changing=UNKNOWN_BLOCK),
    counted=False,
    implicit=True,
    wrong_finish_severity=WARNING,
    repeated_finish=REPEATED_STOP,
    usual_id=STRICT_ID,
    bare=frozenset({INDEX, "p"}),
)
promoted = PROTOCOL.promoted
REPAIRS: Final[tuple[RepairerMaker, ...]] = (EarlyFinishRepairer, partial(BlockDifference, protocol=PROTOCOL))
AT_END: Final = partial(IncompleteCalls, stops=True, is_last=lambda event: False)  # noqa: ARG005
"""Clients read on after `messageStop`: `metadata` follows it."""
INJECTORS: Final[dict[str, InjectorMaker]] = injectors(BEDROCK, lambda: BlockCodec(PROTOCOL))
SHAPES: Final = OF_BLOCKS
