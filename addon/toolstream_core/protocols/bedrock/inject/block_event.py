"""Converse events, as injectors change them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self, override

from toolstream_core.model import Phase
from toolstream_core.protocols.bedrock import converse_event
from toolstream_core.protocols.bedrock.converse_event import BLOCK_DELTA, BLOCK_START, BLOCK_STOP, STOP
from toolstream_core.stages.inject.argument_text import whole_arguments
from toolstream_core.stages.inject.wire_event import WireEvent
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Json
    from toolstream_core.stages.inject.wire_event import Payload
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer


@dataclass(frozen=True, slots=True)
class BlockEvent(WireEvent):
    """An event of a stream of content blocks."""

    keyed: bool = False
    """Whether the event's type is a key of its data."""
    around: Payload = field(default_factory=dict)
    """What else the data has, if it is keyed."""

    PHASES: ClassVar[Mapping[str, Phase]] = {BLOCK_START: Phase.OPEN, BLOCK_DELTA: Phase.MORE, BLOCK_STOP: Phase.CLOSE}
    INDEX = converse_event.INDEX
    MESSAGE_START = converse_event.START
    END_OF_TURN = "end_turn"

    @property
    @override
    def text(self) -> str:
        text = json_access.get(self.body, "delta", "toolUse", "input")
        return text if self.kind == BLOCK_DELTA and isinstance(text, str) else ""

    @override
    def with_text(self, text: Json) -> Self:
        return self.with_body(converse_event.with_input(self.body, text))

    @override
    def with_id(self, identity: str) -> Self:
        return self._with_tool(toolUseId=identity)

    @override
    def with_name(self, name: str) -> Self:
        return self._with_tool(name=name)

    @override
    def with_arguments(self, call: OpenCall) -> Self:
        return self._with_tool(input=whole_arguments(call) or {})

    @property
    @override
    def finishes(self) -> bool:
        return self.kind == STOP

    @override
    def with_reason(self, reason: str) -> Self:
        return self.with_body({**self.body, "stopReason": reason})

    @override
    def arguments_delta(self, index: int, text: str) -> Self:
        return self._made(BLOCK_DELTA, converse_event.input_delta(index, text))

    @override
    def end_of_call(self, index: int) -> Self:
        return self._made(BLOCK_STOP, {self.INDEX: index})

    @override
    def text_block(self, index: int | None, texts: Iterable[str]) -> Iterable[Self]:
        place = {} if index is None else {self.INDEX: index}
        for text in texts:
            yield self._made(BLOCK_DELTA, {**place, "delta": {"text": text}})
        yield self._made(BLOCK_STOP, {**place})

    @override
    def failure(self) -> Self:
        return type(self)("serviceUnavailableException", {"message": "Overloaded"})

    @override
    def rewritten(self, frame: Frame, writer: Writer) -> Frame:
        return writer.rewrite(frame, {**self.around, self.kind: self.body} if self.keyed else self.body)

    @override
    def made(self, number: int, writer: Writer) -> Frame:
        return converse_event.made(writer, self.kind, self.body, number, keyed=self.keyed)

    def _with_tool(self, **fields: Json) -> Self:
        start = self.body["start"]
        return self.with_body({**self.body, "start": {**start, "toolUse": {**start["toolUse"], **fields}}})

    def _made(self, kind: str, body: Payload) -> Self:
        return type(self)(kind, body, self.keyed)


def read_event(frame: Frame) -> BlockEvent | None:
    """The event that a frame is, or `None`."""
    event = converse_event.event_of(frame)
    return None if event is None else BlockEvent(event.kind, event.body, event.keyed, event.payload)
