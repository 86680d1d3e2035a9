"""Defects of how Chat Completions events and answers are built and end, caused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from toolstream_core.defects.plants.markup import MARKUP
from toolstream_core.defects.plants.plant import Plant
from toolstream_core.dialects.chat_edit import (
    Piece,
    chunk,
    continuation,
    pieces,
    says_nothing,
    with_entries,
)
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import Heard, OpenCall
    from toolstream_core.defects.plants.plant import Pick, Planter
    from toolstream_core.defects.stage import Context
    from toolstream_core.model import Event, Json
    from toolstream_core.wire.frame import Frame


class _EventPlant(Plant):
    """Changes events of streams that are picked."""

    def __init__(self, context: Context, pick: Pick) -> None:
        super().__init__(context, pick)
        self._seen: set[int] = set()
        self.calls: list[OpenCall] = []

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        found = pieces(event, heard, self._seen) or []
        self.calls.extend(piece.call for piece in found if piece.opening)
        if not self._pick.stream():
            return [event.frame]
        frames = list(self._changed(event, found))
        if len(frames) != 1 or frames[0] is not event.frame:
            self._pick.acted()
        return frames

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        raise NotImplementedError

    def _rewrite(self, event: Event, payload: Json) -> Frame:
        return self._context.writer.rewrite(event.frame, payload)

    def _make(self, event: Event, payload: Json) -> Frame:
        return self._context.writer.make(payload, event.frame.number)


def _choices(payload: Json, **fields: Json) -> Json:
    """The payload with these fields in each of its choices that has a finish reason."""
    choices = [
        {**choice, **fields} if look.get(choice, "finish_reason") else choice
        for choice in look.items(look.get(payload, "choices"))
    ]
    return {**payload, "choices": choices}


def _every(payload: Json, **fields: Json) -> Json:
    """The payload with these fields in each of its choices."""
    return {**payload, "choices": [{**choice, **fields} for choice in look.items(look.get(payload, "choices"))]}


class _Finish(_EventPlant):
    """Changes the event that says the finish reason."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        del found
        reasons = [finish.reason for finish in event.said.finishes if finish.reason]
        if not reasons or not self.calls:
            return [event.frame]
        return self._finish(event, reasons[0])

    def _finish(self, event: Event, reason: str) -> Iterable[Frame]:
        raise NotImplementedError


class WrongFinish(_Finish):
    """The finish reason is `stop`."""

    def _finish(self, event: Event, reason: str) -> Iterable[Frame]:
        if reason != "tool_calls":
            return [event.frame]
        return [self._rewrite(event, _choices(event.frame.json, finish_reason="stop"))]


class ForeignFinish(_Finish):
    """The finish reason is Anthropic's."""

    def _finish(self, event: Event, reason: str) -> Iterable[Frame]:
        return [self._rewrite(event, _choices(event.frame.json, finish_reason="tool_use"))]


class RepeatedFinish(_Finish):
    """Behind the finish comes another one, `stop`."""

    def _finish(self, event: Event, reason: str) -> Iterable[Frame]:
        number = event.said.finishes[0].choice
        return [event.frame, self._make(event, chunk(event.frame.json, number, {}, "stop"))]


class MissingFinish(_Finish):
    """No event says a finish reason."""

    def _finish(self, event: Event, reason: str) -> Iterable[Frame]:
        return [self._rewrite(event, _choices(event.frame.json, finish_reason=None))]


class EmptyFinish(_EventPlant):
    """Events with entries have the finish reason `""`."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not found or any(finish.reason for finish in event.said.finishes):
            return [event.frame]
        return [self._rewrite(event, _every(event.frame.json, finish_reason=""))]


class EarlyFinish(_EventPlant):
    """Every event with entries says the finish reason."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not found or any(finish.reason for finish in event.said.finishes):
            return [event.frame]
        return [self._rewrite(event, _every(event.frame.json, finish_reason="tool_calls"))]


class MissingDone(_EventPlant):
    """`[DONE]` does not come."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        del found
        return [] if event.said.end and event.frame.data is not None else [event.frame]


class DataAfterEnd(_EventPlant):
    """A chunk with usage comes behind `[DONE]`."""

    _last: Json = None

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        del found
        if isinstance(event.frame.json, dict):
            self._last = event.frame.json
        if not event.said.end or not isinstance(self._last, dict):
            return [event.frame]
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return [event.frame, self._make(event, {**chunk(self._last, 0, {}), "choices": [], "usage": usage})]


class MissingDelta(_EventPlant):
    """A chunk whose choice has no delta comes before the first call."""

    _done = False

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not found or self._done:
            return [event.frame]
        self._done = True
        payload = chunk(event.frame.json, found[0].choice, {})
        del payload["choices"][0]["delta"]
        return [self._make(event, payload), event.frame]


class ChangingStreamId(_EventPlant):
    """Each chunk has an id of its own."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        payload: Json = event.frame.json
        if not (found or event.said.finishes) or not look.get(payload, "id"):
            return [event.frame]
        return [self._rewrite(event, {**payload, "id": f"{payload['id']}-{event.frame.number}"})]


class ToolCallsObject(_EventPlant):
    """`tool_calls` is the entry itself, or the entries by number."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not found:
            return [event.frame]
        choices: list[Json] = []
        payload: Json = event.frame.json
        for choice in look.items(look.get(payload, "choices")):
            entries = look.items(look.get(choice, "delta", "tool_calls"))
            said: Json = entries[0] if len(entries) == 1 else {str(at): entry for at, entry in enumerate(entries)}
            choices.append({**choice, "delta": {**choice["delta"], "tool_calls": said}} if entries else choice)
        return [self._rewrite(event, {**payload, "choices": choices})]


class LegacyFunctionCall(_EventPlant):
    """The first call comes as `function_call`, and the others do not come."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if any(finish.reason == "tool_calls" for finish in event.said.finishes) and not found:
            return [self._rewrite(event, _choices(event.frame.json, finish_reason="function_call"))]
        mine = [piece for piece in found if piece.call is self.calls[0]]
        if not found:
            return [event.frame]
        payload = with_entries(event.frame.json, [])
        if mine:
            function = {key: value for key, value in mine[0].function.items() if key in {"name", "arguments"}}
            function["arguments"] = "".join(piece.arguments for piece in mine)
            for choice in payload["choices"]:
                choice["delta"]["function_call"] = function
        finished = any(finish.reason for finish in event.said.finishes)
        payload = _choices(payload, finish_reason="function_call") if finished else payload
        return [] if not mine and says_nothing(payload) else [self._rewrite(event, payload)]


class SplitChoices(_EventPlant):
    """Calls come in a second choice, which has a finish of its own."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        finish = [one for one in event.said.finishes if one.reason]
        if not found:
            if not finish or not self.calls:
                return [event.frame]
            return [event.frame, self._make(event, chunk(event.frame.json, 1, {}, finish[0].reason))]
        rest = with_entries(event.frame.json, [])
        entries = {"tool_calls": [piece.entry for piece in found]}
        own = [] if says_nothing(rest) else [self._rewrite(event, rest)]
        reason = finish[0].reason if finish else None
        return [self._make(event, chunk(event.frame.json, 1, entries, reason)), *own]


class RepeatedIndex(_EventPlant):
    """A header and its arguments are two entries of one event."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        said: list[tuple[int, Json]] = []
        for piece in found:
            arguments = piece.arguments
            said.append((piece.choice, piece.entry))
            if piece.opening and arguments:
                piece.function["arguments"] = ""
                said.append((piece.choice, continuation(piece.fragment.index, arguments)))
        if len(said) == len(found):
            return [event.frame]
        return [self._rewrite(event, with_entries(event.frame.json, said))]


class MissingCalls(_EventPlant):
    """No event carries a call; the finish reason is as it was."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not found:
            return [event.frame]
        payload = with_entries(event.frame.json, [])
        return [] if says_nothing(payload) else [self._rewrite(event, payload)]


class UnstreamedCalls(MissingCalls):
    """Calls come only in the `message` beside the finish reason."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not any(finish.reason for finish in event.said.finishes) or not self.calls:
            return super()._changed(event, found)
        payload = with_entries(event.frame.json, [])
        message = {"role": "assistant", "content": None, "tool_calls": [_whole(call) for call in self.calls]}
        return [self._rewrite(event, _choices(payload, message=message))]


class CutOffCall(_EventPlant):
    """The last fragment of each call's arguments is left out; the finish reason is as it was."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        ended = [piece for piece in found if piece.call.arguments.whole and len(piece.arguments) > 0]
        if not ended:
            return [event.frame]
        for piece in ended:
            piece.function["arguments"] = piece.arguments.rstrip()[:-1]
        return [self._rewrite(event, with_entries(event.frame.json, [(one.choice, one.entry) for one in found]))]


class TruncatedStream(_EventPlant):
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
        piece.function["arguments"] = piece.arguments.rstrip()[:-1]
        return [self._make(event, chunk(event.frame.json, piece.choice, {"tool_calls": [piece.entry]}))]


class InBandError(TruncatedStream):
    """An error object comes instead of the rest of the first call."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if self._over:
            return [event.frame] if event.said.end else []
        begun = any(piece.call.arguments.whole and piece.arguments for piece in found)
        frames = list(super()._changed(event, found))
        if not begun:
            return frames
        error = {"error": {"message": "Provider disconnected", "code": 502}}
        return [*frames, self._make(event, error)]


class UnparsableData(_EventPlant):
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
        finish = [one for one in event.said.finishes if one.reason]
        if not finish or not self.calls:
            return super()._changed(event, found)
        payload = with_entries(event.frame.json, [])
        texts = [self._text(call) for call in self.calls]
        said = [self._make(event, chunk(payload, finish[0].choice, {"content": text})) for text in texts]
        return [*said, self._rewrite(event, _choices(payload, finish_reason="stop"))]

    def _text(self, call: OpenCall) -> str:
        value = _arguments(call)
        return MARKUP[self._row](call.name, value if isinstance(value, dict) else {})


class LeakedTwice(Leaked):
    """Calls are made, and come as text too."""

    def __init__(self, context: Context, pick: Pick) -> None:
        """As `Plant`."""
        super().__init__(context, pick, "leaked-hermes")

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        finish = [one for one in event.said.finishes if one.reason]
        if not finish or not self.calls:
            return [event.frame]
        texts = [self._text(call) for call in self.calls]
        said = [self._make(event, chunk(event.frame.json, finish[0].choice, {"content": text})) for text in texts]
        return [*said, event.frame]


def _arguments(call: OpenCall) -> Json:
    try:
        return json.loads(call.arguments.text())
    except (ValueError, RecursionError):
        return {}


def _whole(call: OpenCall) -> Json:
    function = {"name": call.name, "arguments": call.arguments.reading()[0]}
    return {"id": call.id, "type": "function", "function": function}


def _leaked(row: str) -> Planter:
    return lambda context, pick: Leaked(context, pick, row)


PLANTS: Final[dict[str, Planter]] = {
    "unparsable-data": UnparsableData,
    "data-after-end": DataAfterEnd,
    "missing-delta": MissingDelta,
    "changing-stream-id": ChangingStreamId,
    "tool-calls-object": ToolCallsObject,
    "legacy-function-call": LegacyFunctionCall,
    "split-choices": SplitChoices,
    "repeated-index": RepeatedIndex,
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
