"""Defects of how Chat Completions events are built, caused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.chat.edit import Piece, chunk, continuation, says_nothing, with_entries
from toolstream_core.protocols.chat.inject.event import EventInjector, finishing
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.model import Event, Json
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.wire.frame import Frame


class MissingDelta(EventInjector):
    """A chunk whose choice has no delta comes before the first call."""

    _done = False

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not found or self._done:
            return [event.frame]
        self._done = True
        payload = chunk(event.frame.json, found[0].choice, {})
        del payload["choices"][0]["delta"]
        return [self._make(event, payload), event.frame]


class ChangingStreamId(EventInjector):
    """Each chunk has an id of its own."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        payload: Json = event.frame.json
        if not (found or event.content.finishes) or not json_access.get(payload, "id"):
            return [event.frame]
        return [self._rewrite(event, {**payload, "id": f"{payload['id']}-{event.frame.number}"})]


class ToolCallsObject(EventInjector):
    """`tool_calls` is the entry itself, or the entries by number."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not found:
            return [event.frame]
        choices: list[Json] = []
        payload: Json = event.frame.json
        for choice in json_access.items(json_access.get(payload, "choices")):
            entries = json_access.items(json_access.get(choice, "delta", "tool_calls"))
            tool_calls: Json = entries[0] if len(entries) == 1 else {str(at): entry for at, entry in enumerate(entries)}
            choices.append({**choice, "delta": {**choice["delta"], "tool_calls": tool_calls}} if entries else choice)
        return [self._rewrite(event, {**payload, "choices": choices})]


class LegacyFunctionCall(EventInjector):
    """The first call comes as `function_call`, and the others do not come."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if any(finish.reason == "tool_calls" for finish in event.content.finishes) and not found:
            return [self._rewrite(event, finishing(event.frame.json, finish_reason="function_call"))]
        mine = [piece for piece in found if piece.call is self.calls[0]]
        if not found:
            return [event.frame]
        payload = with_entries(event.frame.json, [])
        if mine:
            function = {key: value for key, value in mine[0].function.items() if key in {"name", "arguments"}}
            function["arguments"] = "".join(piece.arguments for piece in mine)
            for choice in payload["choices"]:
                choice["delta"]["function_call"] = function
        finished = any(finish.reason for finish in event.content.finishes)
        payload = finishing(payload, finish_reason="function_call") if finished else payload
        return [] if not mine and says_nothing(payload) else [self._rewrite(event, payload)]


class SplitChoices(EventInjector):
    """Calls come in a second choice, which has a finish of its own."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        finish = [one for one in event.content.finishes if one.reason]
        if not found:
            if not finish or not self.calls:
                return [event.frame]
            return [event.frame, self._make(event, chunk(event.frame.json, 1, {}, finish[0].reason))]
        rest = with_entries(event.frame.json, [])
        entries = {"tool_calls": [piece.entry for piece in found]}
        own = [] if says_nothing(rest) else [self._rewrite(event, rest)]
        reason = finish[0].reason if finish else None
        return [self._make(event, chunk(event.frame.json, 1, entries, reason)), *own]


class RepeatedIndex(EventInjector):
    """A header and its arguments are two entries of one event."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        entries: list[tuple[int, Json]] = []
        for piece in found:
            arguments = piece.arguments
            entries.append((piece.choice, piece.entry))
            if piece.opening and arguments:
                piece.function["arguments"] = ""
                entries.append((piece.choice, continuation(piece.fragment.index, arguments)))
        if len(entries) == len(found):
            return [event.frame]
        return [self._rewrite(event, with_entries(event.frame.json, entries))]


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "missing-delta": MissingDelta,
    "changing-stream-id": ChangingStreamId,
    "tool-calls-object": ToolCallsObject,
    "legacy-function-call": LegacyFunctionCall,
    "split-choices": SplitChoices,
    "repeated-index": RepeatedIndex,
}
