"""The events of Bedrock's ConverseStream, as faults change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.causes.what import What
from toolstream_core.defects.row import BEDROCK
from toolstream_core.protocols.bedrock import converse_event
from toolstream_core.protocols.bedrock.converse_event import BLOCK_DELTA, BLOCK_START, BLOCK_STOP, INDEX
from toolstream_core.protocols.bedrock.request import BedrockRequests
from toolstream_core.stages.inject.block_codec import BlockCodec, BlockEvent, BlockForm
from toolstream_core.stages.inject.cause_injector import injectors

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.stages.inject.codec import Payload
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer

KINDS: Final = {
    converse_event.START: What.HEAD,
    BLOCK_START: What.START,
    BLOCK_DELTA: What.DELTA,
    BLOCK_STOP: What.STOP,
    converse_event.STOP: What.FINISH,
    converse_event.METADATA: What.TAIL,
}
WORDS: Final = {**{what: kind for kind, what in KINDS.items()}, What.ERROR: "serviceUnavailableException"}
_TOOL: Final = ("start", "toolUse")


def read(frame: Frame) -> BlockEvent | None:
    """The event of a frame."""
    event = converse_event.event_of(frame)
    return None if event is None else BlockEvent(KINDS.get(event.kind, What.OTHER), event.kind, event.body)


def rewrite(writer: Writer, frame: Frame, body: Payload) -> Frame:
    """The frame with another body."""
    event = converse_event.event_of(frame)
    return frame if event is None else writer.rewrite(frame, event.with_body(body))


def make(writer: Writer, what: What, body: Payload, number: int, keyed: bool) -> Frame:  # noqa: FBT001 - called by position
    """A new frame."""
    return converse_event.made(writer, WORDS[what], body, number, keyed=keyed)


def keyed(frame: Frame) -> bool:
    """Whether the type of an event is a key of its data."""
    event = converse_event.event_of(frame)
    return event is not None and event.keyed


def text_block(index: Json, text: str) -> list[tuple[What, Payload]]:
    """A block of text, which has no start."""
    return [(What.DELTA, {INDEX: index, "delta": {"text": text}}), (What.STOP, {INDEX: index})]


FORM: Final = BlockForm(
    read=read,
    rewrite=rewrite,
    make=make,
    marked=keyed,
    paths={
        What.START: {"id": (*_TOOL, "toolUseId"), "name": (*_TOOL, "name"), "arguments": (*_TOOL, "input")},
        What.DELTA: {"arguments": converse_event.INPUT},
        What.FINISH: {"reason": ("stopReason",)},
    },
    extra={"index": (INDEX,)},
    new={
        What.DELTA: {INDEX: 0, "delta": {"toolUse": {"input": ""}}},
        What.STOP: {INDEX: 0},
        What.FINISH: {"stopReason": "tool_use"},
        What.ERROR: {"message": "Overloaded"},
    },
    text_block=text_block,
    complete="end_turn",
    earlier_ids=BedrockRequests().earlier_ids,
)
INJECTORS: Final[dict[str, InjectorMaker]] = injectors(BEDROCK, lambda: BlockCodec(FORM))
"""By the defect's name."""
