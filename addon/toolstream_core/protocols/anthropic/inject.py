"""The events of Anthropic Messages, as faults change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.causes.what import What
from toolstream_core.defects.row import ANTHROPIC
from toolstream_core.protocols.requests.tools import earlier_ids
from toolstream_core.stages.inject import sse
from toolstream_core.stages.inject.block_codec import BlockCodec, BlockEvent, BlockForm
from toolstream_core.stages.inject.cause_injector import injectors
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.stages.inject.codec import Payload
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer

KINDS: Final = {
    "message_start": What.HEAD,
    "content_block_start": What.START,
    "content_block_delta": What.DELTA,
    "content_block_stop": What.STOP,
    "message_delta": What.FINISH,
    "message_stop": What.END,
}
_BLOCK: Final = "content_block"
_INDEX: Final = {"index": ("index",)}


def read(frame: Frame) -> BlockEvent | None:
    """The event of a frame."""
    body = frame.json
    kind = json_access.get(body, "type")
    if not isinstance(body, dict) or not isinstance(kind, str):
        return None
    return BlockEvent(KINDS.get(kind, What.OTHER), kind, body)


def make(writer: Writer, what: What, body: Payload, number: int, marked: bool) -> Frame:  # noqa: FBT001 - called by position
    """A new frame; every event of this protocol has an event line."""
    del what, marked
    return writer.make(body, number, str(body["type"]))


def text_block(index: Json, text: str) -> list[tuple[What, Payload]]:
    """A block of text."""
    return [
        (What.START, {"type": "content_block_start", "index": index, _BLOCK: {"type": "text", "text": ""}}),
        (What.DELTA, {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}),
        (What.STOP, {"type": "content_block_stop", "index": index}),
    ]


FORM: Final = BlockForm(
    read=read,
    rewrite=lambda writer, frame, body: writer.rewrite(frame, body),
    make=make,
    paths={
        What.START: {**_INDEX, "id": (_BLOCK, "id"), "name": (_BLOCK, "name"), "arguments": (_BLOCK, "input")},
        What.DELTA: {**_INDEX, "arguments": ("delta", "partial_json")},
        What.FINISH: {"reason": ("delta", "stop_reason")},
    },
    new={
        What.DELTA: {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": ""},
        },
        What.STOP: {"type": "content_block_stop", "index": 0},
        What.ERROR: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    },
    text_block=text_block,
    complete="end_turn",
    earlier_ids=earlier_ids,
)
INJECTORS: Final[dict[str, InjectorMaker]] = {**injectors(ANTHROPIC, lambda: BlockCodec(FORM)), **sse.INJECTORS}
"""By the defect's name."""
