"""How the events around Anthropic's content blocks are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.model import Kind, Phase
from toolstream_core.protocols.anthropic.inject.base import DELTA, START, STOP, Payload, arguments_of, value, with_text
from toolstream_core.stages.inject.injector import Injector, Pick
from toolstream_core.stages.inject.markup import MARKUP

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame


_PIECE = 7
"""Characters of one delta."""


class MessageInjector(Injector):
    """Changes the events around the blocks."""

    @override
    def __init__(self, context: Context, pick: Pick) -> None:
        super().__init__(context, pick)
        self.calls: list[OpenCall] = []

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        for fragment, call in resolved:
            if fragment.phase is Phase.OPEN and call.kind is Kind.FUNCTION:
                self.calls.append(call)
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
    """Events have no event line."""

    each = True

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        del call
        if not event.frame.name:
            return [event.frame]
        return [self._context.writer.rewrite(event.frame, payload, "")]


class NullUsage(MessageInjector):
    """Usage is null."""

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        del call
        if payload.get("type") == "message_delta":
            return [self.rewrite(event, {**payload, "usage": None})]
        return [event.frame]


class _Reason(MessageInjector):
    """Changes the event that says the stop reason."""

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        del call
        if payload.get("type") != "message_delta" or not self.calls or not isinstance(payload.get("delta"), dict):
            return [event.frame]
        return self.reason(event, payload)

    def reason(self, event: Event, payload: Payload) -> Iterable[Frame]:
        """What that event becomes."""
        raise NotImplementedError


class WrongFinish(_Reason):
    """The stop reason is `end_turn`."""

    @override
    def reason(self, event: Event, payload: Payload) -> Iterable[Frame]:
        return [self.rewrite(event, {**payload, "delta": {**payload["delta"], "stop_reason": "end_turn"}})]


class ForeignFinish(_Reason):
    """The stop reason is Chat Completions' word."""

    @override
    def reason(self, event: Event, payload: Payload) -> Iterable[Frame]:
        return [self.rewrite(event, {**payload, "delta": {**payload["delta"], "stop_reason": "tool_calls"}})]


class MissingFinish(_Reason):
    """No event says a stop reason."""

    @override
    def reason(self, event: Event, payload: Payload) -> Iterable[Frame]:
        return []


class MissingDone(MessageInjector):
    """`message_stop` does not come."""

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        del call
        return [] if payload.get("type") == "message_stop" else [event.frame]


class RestartedStream(MessageInjector):
    """A second message begins behind the first call."""

    _start: Payload | None = None

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        if payload.get("type") == "message_start":
            self._start = payload
        if payload.get("type") != STOP or call is None or self._start is None:
            return [event.frame]
        start, self._start = self._start, None
        return [event.frame, self.make(event, start)]


class MissingCalls(MessageInjector):
    """No block is a call; the stop reason is as it was."""

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        return [] if call is not None and call.kind is Kind.FUNCTION else [event.frame]


class TruncatedStream(MessageInjector):
    """The body ends, in good order, inside the first call's arguments."""

    _over = False

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        if self._over:
            return []
        if call is None or not call.arguments.whole or not arguments_of(payload):
            return [event.frame]
        self._over = True
        return [self.rewrite(event, with_text(payload, arguments_of(payload).rstrip()[:-1]))]


class InBandError(TruncatedStream):
    """An error event comes instead of the rest of the first call."""

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        before = self._over
        frames = list(super().changed(event, payload, call))
        if before or not self._over:
            return frames
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        return [*frames, self.make(event, error)]


class UnparsableData(MessageInjector):
    """The first event with arguments lacks its last byte."""

    _done = False

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        del call
        if self._done or not arguments_of(payload):
            return [event.frame]
        self._done = True
        return [self._context.writer.rewrite(event.frame, (event.frame.data or b"")[:-1])]


class Leaked(MissingCalls):
    """Calls come as text, in a syntax of some model; the stop reason says that the turn is over."""

    def __init__(self, context: Context, pick: Pick, row: str) -> None:
        """`row` is the name of the syntax's row."""
        super().__init__(context, pick)
        self._row = row

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        delta = payload.get("delta")
        if payload.get("type") != "message_delta" or not self.calls or not isinstance(delta, dict):
            return super().changed(event, payload, call)
        index = self.calls[0].index
        place = {"index": index} if isinstance(index, int) else {}
        text = "\n".join(self._text(one) for one in self.calls)
        ending = {**payload, "delta": {**delta, "stop_reason": "end_turn"}}
        return [
            self.make(event, {"type": START, **place, "content_block": {"type": "text", "text": ""}}),
            *(self.make(event, {"type": DELTA, **place, "delta": delta}) for delta in _pieces(text)),
            self.make(event, {"type": STOP, **place}),
            self.rewrite(event, ending),
        ]

    def _text(self, call: OpenCall) -> str:
        arguments = value(call)
        return MARKUP[self._row](call.name, arguments if isinstance(arguments, dict) else {})


def _pieces(text: str) -> Iterable[Payload]:
    """Deltas of a text, cut as providers do: inside tags and tokens too."""
    for at in range(0, len(text), _PIECE):
        yield {"type": "text_delta", "text": text[at : at + _PIECE]}
