"""The events of Cohere v2, as faults change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.causes.at import Part
from toolstream_core.defects.causes.rule import END, Emit, it, on, per_stream
from toolstream_core.defects.causes.what import What
from toolstream_core.defects.framing import DATA_AFTER_END
from toolstream_core.defects.row import COHERE
from toolstream_core.protocols.cohere import wire
from toolstream_core.protocols.cohere.wire import CALL_DELTA, CALL_END, CALL_START, DONE, MESSAGE_END, MESSAGE_START
from toolstream_core.protocols.requests.tools import earlier_ids
from toolstream_core.stages.inject import sse
from toolstream_core.stages.inject.block_codec import BlockCodec, BlockEvent, BlockForm
from toolstream_core.stages.inject.cause_injector import injectors

if TYPE_CHECKING:
    from toolstream_core.defects.causes.at import At
    from toolstream_core.model import Json
    from toolstream_core.stages.inject.codec import Payload
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer

KINDS: Final = {
    MESSAGE_START: What.HEAD,
    CALL_START: What.START,
    CALL_DELTA: What.DELTA,
    CALL_END: What.STOP,
    MESSAGE_END: What.FINISH,
}
_ENTRY: Final = ("delta", "message", "tool_calls")
_OF_CALL: Final = {
    "id": (*_ENTRY, "id"),
    "type": (*_ENTRY, "type"),
    "name": (*_ENTRY, "function", "name"),
    "arguments": (*_ENTRY, "function", "arguments"),
    "parameters": (*_ENTRY, "function", "parameters"),
    "entry": _ENTRY,
}
_TOKENS: Final = {"input_tokens": 0, "output_tokens": 0}
_USAGE: Final = {"billed_units": _TOKENS, "tokens": _TOKENS}
_CONTENT_END: Final = {"type": "content-end", "index": 0}


def read(frame: Frame) -> BlockEvent | None:
    """The event of a frame."""
    if frame.data is not None and frame.data.strip() == DONE:
        return BlockEvent(What.END, "[DONE]", {})
    body = frame.json
    if not isinstance(body, dict):
        return None
    kind = wire.kind_of(body, frame.name)
    return BlockEvent(KINDS.get(kind, What.OTHER), kind, body)


def make(writer: Writer, what: What, body: Payload, number: int, line: bool) -> Frame:  # noqa: FBT001 - called by position
    """A new frame."""
    if what is What.END:
        return writer.make(DONE, number)
    return writer.make(body, number, str(body["type"]) if line else "")


def text_block(index: Json, text: str) -> list[tuple[What, Payload]]:
    """Visible text, which has indexes of its own."""
    del index
    content = {"message": {"content": {"type": "text", "text": ""}}}
    return [
        (What.START, {"type": "content-start", "index": 0, "delta": content}),
        (What.DELTA, {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": text}}}}),
        (What.STOP, _CONTENT_END),
    ]


def end_of_content(at: At) -> list[Part]:
    """An event that belongs before the end."""
    del at
    return [Part(What.OTHER, "", _CONTENT_END, line="content-end")]


FORM: Final = BlockForm(
    read=read,
    rewrite=lambda writer, frame, body: writer.rewrite(frame, body),
    make=make,
    paths={
        What.START: _OF_CALL,
        What.DELTA: _OF_CALL,
        What.STOP: _OF_CALL,
        What.FINISH: {"reason": ("delta", "finish_reason"), "usage": ("delta", "usage")},
    },
    new={
        What.DELTA: wire.call_delta(0, ""),
        What.STOP: wire.call_end(0),
        What.FINISH: {"type": MESSAGE_END, "delta": {"finish_reason": "TOOL_CALL", "usage": _USAGE}},
        What.ERROR: {"type": MESSAGE_END, "delta": {"finish_reason": "ERROR", "error": "internal error"}},
    },
    text_block=text_block,
    complete="COMPLETE",
    earlier_ids=earlier_ids,
)
OWN: Final = {DATA_AFTER_END.name: per_stream(on(END, it, Emit(end_of_content)))}
INJECTORS: Final[dict[str, InjectorMaker]] = {**injectors(COHERE, lambda: BlockCodec(FORM), OWN), **sse.INJECTORS}
"""By the defect's name."""
