"""Anthropic's events, as injectors change them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self, override

from toolstream_core.model import Phase
from toolstream_core.stages.inject.argument_text import whole_arguments
from toolstream_core.stages.inject.wire_event import WireEvent
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Json
    from toolstream_core.wire.frame import Frame

START: Final = "content_block_start"
DELTA: Final = "content_block_delta"
STOP: Final = "content_block_stop"
FINISH: Final = "message_delta"


@dataclass(frozen=True, slots=True)
class BlockEvent(WireEvent):
    """An event of a stream of content blocks."""

    PHASES: ClassVar[Mapping[str, Phase]] = {START: Phase.OPEN, DELTA: Phase.MORE, STOP: Phase.CLOSE}
    MESSAGE_START = "message_start"
    END_OF_TURN = "end_turn"

    @property
    @override
    def text(self) -> str:
        text = json_access.get(self.body, "delta", "partial_json")
        return text if isinstance(text, str) else ""

    @override
    def with_text(self, text: Json) -> Self:
        return self.with_body({**self.body, "delta": {**self.body["delta"], "partial_json": text}})

    @override
    def with_id(self, identity: str) -> Self:
        return self._with_block(id=identity)

    @override
    def with_name(self, name: str) -> Self:
        return self._with_block(name=name)

    @override
    def with_arguments(self, call: OpenCall) -> Self:
        return self._with_block(input=whole_arguments(call) or {})

    @property
    @override
    def finishes(self) -> bool:
        return self.kind == FINISH and isinstance(self.body.get("delta"), dict)

    @override
    def with_reason(self, reason: str) -> Self:
        return self.with_body({**self.body, "delta": {**self.body["delta"], "stop_reason": reason}})

    @override
    def arguments_delta(self, index: int, text: str) -> Self:
        return self._made(DELTA, index, delta={"type": "input_json_delta", "partial_json": text})

    @override
    def end_of_call(self, index: int) -> Self:
        return self._made(STOP, index)

    @override
    def text_block(self, index: int | None, texts: Iterable[str]) -> Iterable[Self]:
        yield self._made(START, index, content_block={"type": "text", "text": ""})
        for text in texts:
            yield self._made(DELTA, index, delta={"type": "text_delta", "text": text})
        yield self._made(STOP, index)

    @override
    def failure(self) -> Self:
        error = {"type": "overloaded_error", "message": "Overloaded"}
        return type(self)("error", {"type": "error", "error": error})

    def _with_block(self, **fields: Json) -> Self:
        return self.with_body({**self.body, "content_block": {**self.body["content_block"], **fields}})

    def _made(self, kind: str, index: int | None, **fields: Json) -> Self:
        place = {} if index is None else {self.INDEX: index}
        return type(self)(kind, {"type": kind, **place, **fields})


def read_event(frame: Frame) -> BlockEvent | None:
    """The event that a frame is, or `None`."""
    payload = frame.json
    kind = json_access.get(payload, "type")
    return BlockEvent(kind, payload) if isinstance(payload, dict) and isinstance(kind, str) else None
