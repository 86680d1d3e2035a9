"""How the events around Cohere calls are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.model import Phase
from toolstream_core.protocols.cohere.inject.base import text_of, value
from toolstream_core.protocols.cohere.wire import (
    CALL_DELTA,
    CALL_END,
    DONE,
    MESSAGE_END,
    MESSAGE_START,
    Payload,
    kind_of,
    with_arguments,
)
from toolstream_core.stages.inject.injector import Injector, Pick
from toolstream_core.stages.inject.markup import MARKUP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

_PIECE = 7
"""Characters of one delta."""


class MessageInjector(Injector):
    """Changes the events around the calls."""

    def __init__(self, context: Context, pick: Pick) -> None:
        """As `Injector`."""
        super().__init__(context, pick)
        self.calls: list[OpenCall] = []

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        self.calls += [call for fragment, call in resolved if fragment.phase is Phase.OPEN]
        payload = event.frame.json
        if not isinstance(payload, dict) or not self._pick.stream():
            return [event.frame]
        frames = list(self.changed(event, payload, resolved[0].call if resolved else None))
        if len(frames) != 1 or frames[0] is not event.frame:
            self._pick.acted()
        return frames

    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        """What the event becomes."""
        raise NotImplementedError

    def rewrite(self, event: Event, payload: Payload) -> Frame:
        """The event with another payload."""
        return self._context.writer.rewrite(event.frame, payload)

    def make(self, event: Event, payload: Payload) -> Frame:
        """A new event."""
        return self._context.writer.make(payload, event.frame.number, str(payload["type"]))


class MissingEventName(MessageInjector):
    """Events of calls have no event line, the others do."""

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        if call is None or not event.frame.name:
            return [event.frame]
        return [self._context.writer.rewrite(event.frame, payload, "")]


class _Ending(MessageInjector):
    """Changes the event that ends a message with calls."""

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        del call
        delta = payload.get("delta")
        if kind_of(payload) != MESSAGE_END or not self.calls or not isinstance(delta, dict):
            return [event.frame]
        return self.ending(event, payload, delta)

    def ending(self, event: Event, payload: Payload, delta: Payload) -> Iterable[Frame]:
        """What that event becomes."""
        raise NotImplementedError

    def with_delta(self, event: Event, payload: Payload, **fields: Json) -> Frame:
        """That event with other fields in its delta."""
        return self.rewrite(event, {**payload, "delta": {**payload["delta"], **fields}})


class NullUsage(_Ending):
    """Usage is null."""

    @override
    def ending(self, event: Event, payload: Payload, delta: Payload) -> Iterable[Frame]:
        del delta
        return [self.with_delta(event, payload, usage=None)]


class WrongFinish(_Ending):
    """The finish reason is `COMPLETE`."""

    @override
    def ending(self, event: Event, payload: Payload, delta: Payload) -> Iterable[Frame]:
        del delta
        return [self.with_delta(event, payload, finish_reason="COMPLETE")]


class ForeignFinish(_Ending):
    """The finish reason is Chat Completions' word."""

    @override
    def ending(self, event: Event, payload: Payload, delta: Payload) -> Iterable[Frame]:
        del delta
        return [self.with_delta(event, payload, finish_reason="tool_calls")]


class MissingFinish(_Ending):
    """`message-end` does not come."""

    @override
    def ending(self, event: Event, payload: Payload, delta: Payload) -> Iterable[Frame]:
        del event, payload, delta
        return []


class RepeatedFinish(_Ending):
    """`message-end` comes twice."""

    @override
    def ending(self, event: Event, payload: Payload, delta: Payload) -> Iterable[Frame]:
        del delta
        return [event.frame, self.make(event, payload)]


class DataAfterEnd(Injector):
    """A content block follows `[DONE]`."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        del resolved
        if (event.frame.data or b"").strip() != DONE or not self._pick.stream():
            return [event.frame]
        self._pick.acted()
        late = {"type": "content-end", "index": 0}
        return [event.frame, self._context.writer.make(late, event.frame.number, "content-end")]


class RestartedStream(MessageInjector):
    """A second message begins behind the first call."""

    _start: Payload | None = None

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        if kind_of(payload) == MESSAGE_START:
            self._start = payload
        if kind_of(payload) != CALL_END or call is None or self._start is None:
            return [event.frame]
        start, self._start = self._start, None
        return [event.frame, self.make(event, start)]


class MissingCalls(MessageInjector):
    """No call comes; the finish reason is as it was."""

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        return [] if call is not None else [event.frame]


class TruncatedStream(MessageInjector):
    """The body ends, in good order, inside the first call's arguments."""

    each = True
    over = False
    """Whether nothing more goes on."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        return [] if self.over else super().take(event, resolved)

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        if call is None or kind_of(payload) != CALL_DELTA or not call.arguments.whole or not text_of(payload):
            return [event.frame]
        self.over = True
        return [self.rewrite(event, with_arguments(payload, text_of(payload).rstrip()[:-1]))]


class InBandError(TruncatedStream):
    """The message ends with an error instead of the rest of the first call."""

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        frames = list(super().changed(event, payload, call))
        if not self.over:
            return frames
        failed = {"type": MESSAGE_END, "delta": {"finish_reason": "ERROR", "error": "internal error"}}
        return [*frames, self.make(event, failed)]


class UnparsableData(MessageInjector):
    """The first event with arguments lacks its last byte."""

    _done = False

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        if self._done or call is None or kind_of(payload) != CALL_DELTA or not text_of(payload):
            return [event.frame]
        self._done = True
        return [self._context.writer.rewrite(event.frame, (event.frame.data or b"")[:-1])]


class Leaked(MissingCalls):
    """Calls come as text, in a syntax of some model; the finish reason says that the turn is over."""

    def __init__(self, context: Context, pick: Pick, row: str) -> None:
        """`row` is the name of the syntax's row."""
        super().__init__(context, pick)
        self._row = row

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        delta = payload.get("delta")
        if kind_of(payload) != MESSAGE_END or not self.calls or not isinstance(delta, dict):
            return super().changed(event, payload, call)
        text = "\n".join(self._text(one) for one in self.calls)
        ending = {**payload, "delta": {**delta, "finish_reason": "COMPLETE"}}
        return [*(self.make(event, one) for one in _content(text)), self.rewrite(event, ending)]

    def _text(self, call: OpenCall) -> str:
        arguments = value(call)
        return MARKUP[self._row](call.name, arguments if isinstance(arguments, dict) else {})


def _content(text: str) -> Iterator[Payload]:
    """A content block, its deltas cut as providers do: inside tags and tokens too."""
    place = {"index": 0}
    yield {"type": "content-start", **place, "delta": {"message": {"content": {"type": "text", "text": ""}}}}
    for at in range(0, len(text), _PIECE):
        piece = {"text": text[at : at + _PIECE]}
        yield {"type": "content-delta", **place, "delta": {"message": {"content": piece}}}
    yield {"type": "content-end", **place}
