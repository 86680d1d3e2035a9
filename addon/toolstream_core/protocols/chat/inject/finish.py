"""Defects of how Chat Completions events and answers are built and end, caused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, override

from toolstream_core.protocols.chat.edit import Piece, chunk, says_nothing, with_entries
from toolstream_core.protocols.chat.inject.event import EventInjector, FinishInjector, every, finishing
from toolstream_core.stages.inject.argument_text import without_end
from toolstream_core.stages.inject.markup import MARKUP, as_markup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker, Pick
    from toolstream_core.wire.frame import Frame


class WrongFinish(FinishInjector):
    """The finish reason is `stop`."""

    def _finish(self, event: Event, reason: str) -> Iterable[Frame]:
        if reason != "tool_calls":
            return [event.frame]
        return [self._rewrite(event, finishing(event.frame.json, finish_reason="stop"))]


class ForeignFinish(FinishInjector):
    """The finish reason is Anthropic's."""

    def _finish(self, event: Event, reason: str) -> Iterable[Frame]:
        return [self._rewrite(event, finishing(event.frame.json, finish_reason="tool_use"))]


class RepeatedFinish(FinishInjector):
    """Behind the finish comes another one, `stop`."""

    def _finish(self, event: Event, reason: str) -> Iterable[Frame]:
        number = event.content.finishes[0].choice
        return [event.frame, self._make(event, chunk(event.frame.json, number, {}, "stop"))]


class MissingFinish(FinishInjector):
    """No event says a finish reason."""

    def _finish(self, event: Event, reason: str) -> Iterable[Frame]:
        return [self._rewrite(event, finishing(event.frame.json, finish_reason=None))]


class EmptyFinish(EventInjector):
    """Events with entries have the finish reason `""`."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not found or any(finish.reason for finish in event.content.finishes):
            return [event.frame]
        return [self._rewrite(event, every(event.frame.json, finish_reason=""))]


class EarlyFinish(EventInjector):
    """Every event with entries says the finish reason."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not found or any(finish.reason for finish in event.content.finishes):
            return [event.frame]
        return [self._rewrite(event, every(event.frame.json, finish_reason="tool_calls"))]


class MissingDone(EventInjector):
    """`[DONE]` does not come."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        del found
        return [] if event.content.end and event.frame.data is not None else [event.frame]


class DataAfterEnd(EventInjector):
    """A chunk with usage comes behind `[DONE]`."""

    _last: Json = None

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        del found
        if isinstance(event.frame.json, dict):
            self._last = event.frame.json
        if not event.content.end or not isinstance(self._last, dict):
            return [event.frame]
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return [event.frame, self._make(event, {**chunk(self._last, 0, {}), "choices": [], "usage": usage})]


class MissingCalls(EventInjector):
    """No event carries a call; the finish reason is as it was."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not found:
            return [event.frame]
        payload = with_entries(event.frame.json, [])
        return [] if says_nothing(payload) else [self._rewrite(event, payload)]


class UnstreamedCalls(MissingCalls):
    """Calls come only in the `message` beside the finish reason."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not any(finish.reason for finish in event.content.finishes) or not self.calls:
            return super()._changed(event, found)
        payload = with_entries(event.frame.json, [])
        message = {"role": "assistant", "content": None, "tool_calls": [_whole(call) for call in self.calls]}
        return [self._rewrite(event, finishing(payload, message=message))]


class CutOffCall(EventInjector):
    """The last fragment of each call's arguments is left out; the finish reason is as it was."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        ended = [piece for piece in found if piece.call.arguments.whole and len(piece.arguments) > 0]
        if not ended:
            return [event.frame]
        for piece in ended:
            piece.function["arguments"] = without_end(piece.arguments)
        return [self._rewrite(event, with_entries(event.frame.json, [(one.choice, one.entry) for one in found]))]


class TruncatedStream(EventInjector):
    """The body ends, in good order, inside the first call's arguments."""

    _over = False

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if self._over:
            return []
        ended = [piece for piece in found if piece.call.arguments.whole and piece.arguments]
        if not ended:
            return [event.frame]
        self._over = True
        piece = ended[0]
        piece.function["arguments"] = without_end(piece.arguments)
        return [self._make(event, chunk(event.frame.json, piece.choice, {"tool_calls": [piece.entry]}))]


class InBandError(TruncatedStream):
    """An error object comes instead of the rest of the first call."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if self._over:
            return [event.frame] if event.content.end else []
        begun = any(piece.call.arguments.whole and piece.arguments for piece in found)
        frames = list(super()._changed(event, found))
        if not begun:
            return frames
        error = {"error": {"message": "Provider disconnected", "code": 502}}
        return [*frames, self._make(event, error)]


_TOKEN = re.compile(r"\s?\w+|\s|[^\w\s]{1,2}")
"""About what a model says at once."""


class UnparsableData(EventInjector):
    """The first event with a call lacks its last byte."""

    _done = False

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not found or self._done:
            return [event.frame]
        self._done = True
        return [self._rewrite(event, (event.frame.data or b"")[:-1])]


class Leaked(MissingCalls):
    """Calls come as text, in a syntax of their model; the finish reason says that the turn is over."""

    def __init__(self, context: Context, pick: Pick, row: str) -> None:
        """`row` is the name of the syntax's row."""
        super().__init__(context, pick)
        self._row = row

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        finish = [one for one in event.content.finishes if one.reason]
        if not finish or not self.calls:
            return super()._changed(event, found)
        payload = with_entries(event.frame.json, [])
        return [*self._texts(event, finish[0].choice), self._rewrite(event, finishing(payload, finish_reason="stop"))]

    def _texts(self, event: Event, choice: int) -> list[Frame]:
        """All calls as text, token by token, as models say it."""
        payload = with_entries(event.frame.json, [])
        tokens = (token for call in self.calls for token in _TOKEN.findall(as_markup(self._row, call)))
        return [self._make(event, chunk(payload, choice, {"content": token})) for token in tokens]


class LeakedTwice(Leaked):
    """Calls are made, and come as text too."""

    @override
    def __init__(self, context: Context, pick: Pick) -> None:
        super().__init__(context, pick, "leaked-hermes")

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        finish = [one for one in event.content.finishes if one.reason]
        if not finish or not self.calls:
            return [event.frame]
        return [*self._texts(event, finish[0].choice), event.frame]


def _whole(call: OpenCall) -> Json:
    function = {"name": call.name, "arguments": call.arguments.reading()[0]}
    return {"id": call.id, "type": "function", "function": function}


def _leaked(row: str) -> InjectorMaker:
    return lambda context, pick: Leaked(context, pick, row)


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "unparsable-data": UnparsableData,
    "data-after-end": DataAfterEnd,
    "truncated-stream": TruncatedStream,
    "cut-off-call": CutOffCall,
    "missing-done": MissingDone,
    "missing-finish": MissingFinish,
    "wrong-finish": WrongFinish,
    "missing-calls": MissingCalls,
    "unstreamed-calls": UnstreamedCalls,
    "early-finish": EarlyFinish,
    "repeated-finish": RepeatedFinish,
    "empty-finish": EmptyFinish,
    "foreign-finish": ForeignFinish,
    "in-band-error": InBandError,
    **{row: _leaked(row) for row in MARKUP},
    "leaked-twice": LeakedTwice,
}
