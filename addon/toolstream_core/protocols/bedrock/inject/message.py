"""How the events around Converse blocks are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.model import Kind, Phase
from toolstream_core.protocols.bedrock.converse_event import (
    BLOCK_DELTA,
    BLOCK_STOP,
    INDEX,
    METADATA,
    START,
    STOP,
    ConverseEvent,
    Payload,
    event_of,
    made,
    with_input,
)
from toolstream_core.protocols.bedrock.inject.base import said_input, value
from toolstream_core.stages.inject.injector import Injector, Pick
from toolstream_core.stages.inject.markup import MARKUP

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.wire.frame import Frame

_PIECE: Final = 7
"""Characters of one delta."""


class MessageInjector(Injector):
    """Changes the events around the blocks."""

    def __init__(self, context: Context, pick: Pick) -> None:
        """As `Injector`."""
        super().__init__(context, pick)
        self.calls: list[OpenCall] = []

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        for fragment, call in resolved:
            if fragment.phase is Phase.OPEN and call.kind is Kind.FUNCTION:
                self.calls.append(call)
        converse = event_of(event.frame)
        if converse is None or not self._pick.stream():
            return [event.frame]
        frames = list(self.changed(event, converse, resolved[0].call if resolved else None))
        if len(frames) != 1 or frames[0] is not event.frame:
            self._pick.acted()
        return frames

    def changed(self, event: Event, converse: ConverseEvent, call: OpenCall | None) -> Iterable[Frame]:
        """What the event becomes."""
        raise NotImplementedError

    def rewrite(self, event: Event, converse: ConverseEvent, body: Payload) -> Frame:
        """The event with another body."""
        return self._context.writer.rewrite(event.frame, converse.with_body(body))

    def make(self, event: Event, converse: ConverseEvent, kind: str, body: Payload) -> Frame:
        """A new event."""
        return made(self._context.writer, kind, body, event.frame.number, keyed=converse.keyed)


class NullUsage(MessageInjector):
    """Usage is null."""

    @override
    def changed(self, event: Event, converse: ConverseEvent, call: OpenCall | None) -> Iterable[Frame]:
        if converse.kind != METADATA:
            return [event.frame]
        return [self.rewrite(event, converse, {**converse.body, "usage": None})]


class WrongFinish(MessageInjector):
    """The stop reason is `end_turn`."""

    reason: str | None = "end_turn"

    @override
    def changed(self, event: Event, converse: ConverseEvent, call: OpenCall | None) -> Iterable[Frame]:
        if converse.kind != STOP or not self.calls:
            return [event.frame]
        if self.reason is None:
            return []
        return [self.rewrite(event, converse, {**converse.body, "stopReason": self.reason})]


class ForeignFinish(WrongFinish):
    """The stop reason is Chat Completions' word."""

    reason = "tool_calls"


class MissingFinish(WrongFinish):
    """`messageStop` does not come."""

    reason = None


class RestartedStream(MessageInjector):
    """A second message begins behind the first call."""

    _start: Payload | None = None

    @override
    def changed(self, event: Event, converse: ConverseEvent, call: OpenCall | None) -> Iterable[Frame]:
        if converse.kind == START:
            self._start = converse.body
        if converse.kind != BLOCK_STOP or call is None or self._start is None:
            return [event.frame]
        start, self._start = self._start, None
        return [event.frame, self.make(event, converse, START, start)]


class MissingCalls(MessageInjector):
    """No block is a call; the stop reason is as it was."""

    @override
    def changed(self, event: Event, converse: ConverseEvent, call: OpenCall | None) -> Iterable[Frame]:
        return [] if call is not None and call.kind is Kind.FUNCTION else [event.frame]


class TruncatedStream(MessageInjector):
    """The body ends, in good order, inside the first call's arguments."""

    _over = False

    @override
    def changed(self, event: Event, converse: ConverseEvent, call: OpenCall | None) -> Iterable[Frame]:
        if self._over:
            return []
        text = said_input(converse)
        if call is None or not call.arguments.whole or not text:
            return [event.frame]
        self._over = True
        return [self._context.writer.rewrite(event.frame, with_input(converse.payload, text.rstrip()[:-1]))]


class InBandError(TruncatedStream):
    """An exception comes instead of the rest of the first call."""

    @override
    def changed(self, event: Event, converse: ConverseEvent, call: OpenCall | None) -> Iterable[Frame]:
        before = self._over
        frames = list(super().changed(event, converse, call))
        if before or not self._over:
            return frames
        error = self._context.writer.make({"message": "Overloaded"}, event.frame.number, "serviceUnavailableException")
        return [*frames, error]


class UnparsableData(MessageInjector):
    """The first event with arguments lacks its last byte; the message around it is sound."""

    _done = False

    @override
    def changed(self, event: Event, converse: ConverseEvent, call: OpenCall | None) -> Iterable[Frame]:
        if self._done or not said_input(converse):
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
    def changed(self, event: Event, converse: ConverseEvent, call: OpenCall | None) -> Iterable[Frame]:
        if converse.kind != STOP or not self.calls:
            return super().changed(event, converse, call)
        index = self.calls[0].index
        place = {INDEX: index} if isinstance(index, int) else {}
        text = "\n".join(self._text(one) for one in self.calls)
        # Deltas are cut as providers do: inside tags and tokens too.
        pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
        return [
            *(self.make(event, converse, BLOCK_DELTA, {**place, "delta": {"text": piece}}) for piece in pieces),
            self.make(event, converse, BLOCK_STOP, dict(place)),
            self.rewrite(event, converse, {**converse.body, "stopReason": "end_turn"}),
        ]

    def _text(self, call: OpenCall) -> str:
        arguments = value(call)
        return MARKUP[self._row](call.name, arguments if isinstance(arguments, dict) else {})


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "unparsable-data": UnparsableData,
    "null-usage": NullUsage,
    "restarted-stream": RestartedStream,
    "truncated-stream": TruncatedStream,
    "missing-finish": MissingFinish,
    "wrong-finish": WrongFinish,
    "foreign-finish": ForeignFinish,
    "missing-calls": MissingCalls,
    "in-band-error": InBandError,
}
