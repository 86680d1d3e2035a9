"""Anthropic Messages: its events and their fields as a table, for repair, faults and shapes."""

from __future__ import annotations

from functools import partial
from typing import Final

from toolstream_core.defects.defect import ANTHROPIC, WARNING
from toolstream_core.defects.identity import OFFSET_INDEX, UNKNOWN_BLOCK
from toolstream_core.model import Json
from toolstream_core.repair.blocks.faults import BlockCodec
from toolstream_core.repair.blocks.protocol import BlockProtocol, IndexDefects, by_type
from toolstream_core.repair.blocks.stage import BlockDifference
from toolstream_core.repair.finish import FinishWords
from toolstream_core.repair.identity import STRICT_ID
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
    "message_start": What.HEAD,
    "content_block_start": What.START,
    "content_block_delta": What.DELTA,
    "content_block_stop": What.STOP,
    "message_delta": What.FINISH,
    "message_stop": What.END,
}
_BLOCK, _INPUT = "content_block", {"type": "input_json_delta", "partial_json": ""}


def make(writer: Writer, what: What, body: Payload, number: int, *, line: bool) -> Frame:
    """A new frame."""
    return writer.make(body, number, str(body["type"]))


def begin(identity: str, model: Json) -> Payload:
    """The event that begins a message."""
    message = {"id": identity, "type": "message", "role": "assistant", "model": model, "content": []}
    usage = {"input_tokens": 0, "output_tokens": 0}
    return {
        "type": "message_start",
        "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage},
    }


def text_block(index: Json, text: str) -> list[tuple[What, Payload]]:
    """A block of text."""
    return [
        (What.START, {"type": "content_block_start", "index": index, _BLOCK: {"type": "text", "text": ""}}),
        (What.DELTA, {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}),
        (What.STOP, {"type": "content_block_stop", "index": index}),
    ]


PROTOCOL: Final = BlockProtocol(
    kinds=KINDS,
    read=by_type(KINDS),
    make=make,
    paths={
        What.HEAD: {"usage": ("message", "usage")},
        What.START: {
            "index": ("index",),
            "id": (_BLOCK, "id"),
            "name": (_BLOCK, "name"),
            "arguments": (_BLOCK, "input"),
            "type": (_BLOCK, "type"),
            "caller": (_BLOCK, "caller", "type"),
        },
        What.DELTA: {"index": ("index",), "arguments": ("delta", "partial_json"), "delta_type": ("delta", "type")},
        What.STOP: {"index": ("index",)},
        What.FINISH: {"reason": ("delta", "stop_reason"), "usage": ("usage",)},
    },
    start={"arguments": {}},
    new={
        What.START: {
            "type": "content_block_start",
            "index": 0,
            _BLOCK: {"type": "tool_use", "id": "", "name": "", "input": {}},
        },
        What.DELTA: {"type": "content_block_delta", "index": 0, "delta": _INPUT},
        What.STOP: {"type": "content_block_stop", "index": 0},
        What.FINISH: {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 0},
        },
        What.END: {"type": "message_stop"},
        What.ERROR: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    },
    begin=begin,
    text_block=text_block,
    usage={What.HEAD: {"input_tokens": 0, "output_tokens": 0}, What.FINISH: {"output_tokens": 0}},
    words=FinishWords(
        called="tool_use", complete="end_turn", cut="max_tokens", filtered="refusal", others=("stop_sequence",)
    ),
    index_defects=IndexDefects(missing=OFFSET_INDEX, odd=OFFSET_INDEX, offset=OFFSET_INDEX, changing=UNKNOWN_BLOCK),
    other_deltas={
        "text": ("thinking_delta", "signature_delta", "input_json_delta"),
        "thinking": ("text_delta", "citations_delta", "input_json_delta"),
        "tool_use": ("thinking_delta",),
    },
    event_lines=frozenset({*KINDS, "ping", "error"}),
    end_severity=WARNING,
    wrong_finish_severity=WARNING,
    usual_id=STRICT_ID,
    bare=frozenset({"type", "index", "amazon-bedrock-invocationMetrics"}),
)
promoted = PROTOCOL.promoted
REPAIRS: Final[tuple[RepairerMaker, ...]] = (framing.SseRepairer, partial(BlockDifference, protocol=PROTOCOL))
AT_END: Final = partial(IncompleteCalls, stops=True)
INJECTORS: Final[dict[str, InjectorMaker]] = {
    **injectors(ANTHROPIC, lambda: BlockCodec(PROTOCOL)),
    **framing.INJECTORS,
}
SHAPES: Final = {**OF_BLOCKS, **framing.SHAPES}
