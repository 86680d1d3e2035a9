"""How the events around calls, and answers as a whole, are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.model import Kind, Phase
from toolstream_core.stages.inject.argument_text import pieces, without_end
from toolstream_core.stages.inject.injector import Injector, Pick
from toolstream_core.stages.inject.markup import MARKUP, as_markup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.stages.inject.wire_event import Reader, WireEvent
    from toolstream_core.wire.frame import Frame


class MessageInjector(Injector):
    """Changes the events of an answer."""

    def __init__(self, context: Context, pick: Pick, read: Reader) -> None:
        """`read` is the protocol's."""
        super().__init__(context, pick)
        self._read = read
        self.calls: list[OpenCall] = []

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        for fragment, call in resolved:
            if fragment.phase is Phase.OPEN and call.kind is Kind.FUNCTION:
                self.calls.append(call)
        wire_event = self._read(event.frame)
        if wire_event is None or not self._pick.stream():
            return [event.frame]
        first = resolved[0].call if resolved else None
        return self._counted(event.frame, self.changed(event.frame, wire_event, first))

    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        """What the frame of an event becomes; `call` is the first one that it is of."""
        raise NotImplementedError

    def rewritten(self, frame: Frame, event: WireEvent) -> Frame:
        """The frame with another event."""
        return event.rewritten(frame, self._context.writer)

    def made(self, frame: Frame, event: WireEvent) -> Frame:
        """A new frame, as part of the same event."""
        return event.made(frame.number, self._context.writer)


class FinishInjector(MessageInjector):
    """Changes the event that says the finish reason of an answer with calls."""

    @override
    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        del call
        return self.finish(frame, event) if event.finishes and self.calls else [frame]

    def finish(self, frame: Frame, event: WireEvent) -> Iterable[Frame]:
        """What that frame becomes."""
        raise NotImplementedError


class WrongFinish(FinishInjector):
    """The finish reason is the one of an answer without calls."""

    @override
    def finish(self, frame: Frame, event: WireEvent) -> Iterable[Frame]:
        return [self.rewritten(frame, event.with_reason(event.END_OF_TURN))]


class ForeignFinish(FinishInjector):
    """The finish reason is Chat Completions' word."""

    @override
    def finish(self, frame: Frame, event: WireEvent) -> Iterable[Frame]:
        return [self.rewritten(frame, event.with_reason("tool_calls"))]


class MissingFinish(FinishInjector):
    """No event says a finish reason."""

    @override
    def finish(self, frame: Frame, event: WireEvent) -> Iterable[Frame]:
        return []


class RepeatedFinish(FinishInjector):
    """The event that says the finish reason comes twice."""

    @override
    def finish(self, frame: Frame, event: WireEvent) -> Iterable[Frame]:
        return [frame, self.made(frame, event)]


class EarlyFinish(MessageInjector):
    """The finish reason is said amid a call's arguments, or before the second call; not once more at the end."""

    def __init__(self, context: Context, pick: Pick, read: Reader, finish: Callable[[WireEvent], WireEvent]) -> None:
        """`finish` makes the event that says the finish reason, beside another event of its stream."""
        super().__init__(context, pick, read)
        self._finish = finish
        self._said = False
        self._begun: set[int] = set()
        """Calls that have arguments, by `id(call)`; they live as long as the stream."""

    @override
    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        if event.finishes and self._said:
            return []
        if self._said or call is None or not self._is_amid(event, call):
            return [frame]
        self._said = True
        return [self.made(frame, self._finish(event)), frame]

    def _is_amid(self, event: WireEvent, call: OpenCall) -> bool:
        """Whether calls have begun and are not over before this event."""
        if event.phase is Phase.OPEN:
            return len(self.calls) > 1
        begun = id(call) in self._begun
        if event.text:
            self._begun.add(id(call))
        return begun and bool(event.text)


class RestartedStream(MessageInjector):
    """A second message begins behind the first call."""

    _start: WireEvent | None = None

    @override
    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        if event.kind == event.MESSAGE_START:
            self._start = event
        if event.phase is not Phase.CLOSE or call is None or self._start is None:
            return [frame]
        start, self._start = self._start, None
        return [frame, self.made(frame, start)]


class MissingCalls(MessageInjector):
    """No call comes; the finish reason is as it was."""

    @override
    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        return [] if call is not None and call.kind is Kind.FUNCTION else [frame]


class TruncatedStream(MessageInjector):
    """The body ends, in good order, inside the first call's arguments."""

    each = True
    _over = False

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        if not self._over:
            return super().take(event, resolved)
        if self._read(event.frame) is not None:
            self._pick.acted()
        return []

    @override
    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        if call is None or not call.arguments.whole or not event.text:
            return [frame]
        self._over = True
        return [self.rewritten(frame, event.with_text(without_end(event.text)))]


class InBandError(TruncatedStream):
    """An error comes instead of the rest of the first call."""

    @override
    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        frames = super().changed(frame, event, call)
        return [*frames, self.made(frame, event.failure())] if self._over else frames


class UnparsableData(MessageInjector):
    """The data of the first event with arguments lacks its last byte."""

    _done = False

    @override
    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        if self._done or call is None or not event.text:
            return [frame]
        self._done = True
        return [self._context.writer.rewrite(frame, (frame.data or b"")[:-1])]


class LeakedCalls(MissingCalls):
    """Calls come as text, in a syntax of some model; the finish reason says that the turn is over."""

    def __init__(self, context: Context, pick: Pick, read: Reader, row: str) -> None:
        """`row` is the name of the syntax's row."""
        super().__init__(context, pick, read)
        self._row = row

    @override
    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        if not event.finishes or not self.calls:
            return super().changed(frame, event, call)
        text = "\n".join(as_markup(self._row, one) for one in self.calls)
        index = self.calls[0].index
        block = event.text_block(index if isinstance(index, int) else None, pieces(text))
        ending = self.rewritten(frame, event.with_reason(event.END_OF_TURN))
        return [*(self.made(frame, each) for each in block), ending]


def maker(injector: Callable[[Context, Pick, Reader], MessageInjector], read: Reader) -> InjectorMaker:
    """What makes the injector for a stream."""
    return lambda context, pick: injector(context, pick, read)


def early_finish(read: Reader, finish: Callable[[WireEvent], WireEvent]) -> InjectorMaker:
    """What makes an `EarlyFinish`."""
    return lambda context, pick: EarlyFinish(context, pick, read, finish)


def makers(read: Reader) -> dict[str, InjectorMaker]:
    """The injectors that every protocol shares whose answers are messages with a beginning and an end."""

    def leaked(row: str) -> InjectorMaker:
        return lambda context, pick: LeakedCalls(context, pick, read, row)

    return {
        "unparsable-data": maker(UnparsableData, read),
        "restarted-stream": maker(RestartedStream, read),
        "truncated-stream": maker(TruncatedStream, read),
        "missing-finish": maker(MissingFinish, read),
        "wrong-finish": maker(WrongFinish, read),
        "foreign-finish": maker(ForeignFinish, read),
        "missing-calls": maker(MissingCalls, read),
        "in-band-error": maker(InBandError, read),
        **{row: leaked(row) for row in MARKUP},
    }
