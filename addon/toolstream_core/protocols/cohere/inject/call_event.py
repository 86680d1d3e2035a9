"""Cohere's events, as injectors change them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self, override

from toolstream_core.model import Phase
from toolstream_core.protocols.cohere import wire
from toolstream_core.protocols.cohere.wire import CALL_DELTA, CALL_END, CALL_START, MESSAGE_END
from toolstream_core.stages.inject.wire_event import WireEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Json
    from toolstream_core.stages.inject.wire_event import Payload
    from toolstream_core.wire.frame import Frame


@dataclass(frozen=True, slots=True)
class CallEvent(WireEvent):
    """An event of a chat stream."""

    PHASES: ClassVar[Mapping[str, Phase]] = {CALL_START: Phase.OPEN, CALL_DELTA: Phase.MORE, CALL_END: Phase.CLOSE}
    MESSAGE_START = wire.MESSAGE_START
    END_OF_TURN = "COMPLETE"

    @property
    @override
    def text(self) -> str:
        text = wire.arguments_in(self.body) if self.kind == CALL_DELTA else ""
        return text if isinstance(text, str) else ""

    @override
    def with_text(self, text: Json) -> Self:
        return self.with_body(wire.with_arguments(self.body, text))

    @override
    def with_id(self, identity: str) -> Self:
        return self.with_body(with_fields(self.body, id=identity))

    @override
    def without_id(self) -> Self:
        return self.with_body(without(self.body, "id"))

    @override
    def with_name(self, name: str) -> Self:
        return self.with_body(with_function(self.body, name=name))

    @override
    def with_arguments(self, call: OpenCall) -> Self:
        return self.with_text(call.arguments.reading()[0])

    @property
    @override
    def finishes(self) -> bool:
        return self.kind == MESSAGE_END and isinstance(self.body.get("delta"), dict)

    @override
    def with_reason(self, reason: str) -> Self:
        return self.with_body({**self.body, "delta": {**self.body["delta"], "finish_reason": reason}})

    @override
    def arguments_delta(self, index: int, text: str) -> Self:
        return type(self)(CALL_DELTA, wire.call_delta(index, text))

    @override
    def end_of_call(self, index: int) -> Self:
        return type(self)(CALL_END, wire.call_end(index))

    @override
    def text_block(self, index: int | None, texts: Iterable[str]) -> Iterable[Self]:
        # Content is counted apart from calls.
        yield self._of_content("content-start", {"type": "text", "text": ""})
        for text in texts:
            yield self._of_content("content-delta", {"text": text})
        yield type(self)("content-end", {"type": "content-end", "index": 0})

    @override
    def failure(self) -> Self:
        delta = {"finish_reason": "ERROR", "error": "internal error"}
        return type(self)(MESSAGE_END, {"type": MESSAGE_END, "delta": delta})

    def _of_content(self, kind: str, content: Json) -> Self:
        return type(self)(kind, {"type": kind, "index": 0, "delta": {"message": {"content": content}}})


def read_event(frame: Frame) -> CallEvent | None:
    """The event that a frame is, or `None`."""
    payload = frame.json
    return CallEvent(wire.kind_of(payload, frame.name), payload) if isinstance(payload, dict) else None


def with_fields(payload: Payload, **fields: Json) -> Payload:
    """The event with other fields in its entry."""
    return wire.with_entry(payload, {**wire.entry_of(payload), **fields})


def with_function(payload: Payload, **fields: Json) -> Payload:
    """The event with other fields in its entry's function."""
    return with_fields(payload, function={**wire.function_of(wire.entry_of(payload)), **fields})


def without(payload: Payload, key: str) -> Payload:
    """The event without a field of its entry, or of the entry's function."""
    entry = wire.entry_of(payload)
    function = {name: value for name, value in wire.function_of(entry).items() if name != key}
    kept = {name: value for name, value in entry.items() if name != key}
    return wire.with_entry(payload, {**kept, "function": function})
