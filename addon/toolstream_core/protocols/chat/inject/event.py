"""The base of the injectors that change Chat Completions events."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.protocols.chat.edit import Piece, pieces
from toolstream_core.stages.inject.injector import Injector
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import Pick
    from toolstream_core.wire.frame import Frame


class EventInjector(Injector):
    """Changes events of streams that are picked."""

    @override
    def __init__(self, context: Context, pick: Pick) -> None:
        super().__init__(context, pick)
        self._seen: set[int] = set()
        self.calls: list[OpenCall] = []

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        found = pieces(event, resolved, self._seen) or []
        self.calls.extend(piece.call for piece in found if piece.opening)
        if not self._pick.stream():
            return [event.frame]
        return self._counted(event.frame, self._changed(event, found))

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        raise NotImplementedError

    def _rewrite(self, event: Event, payload: Json) -> Frame:
        return self._context.writer.rewrite(event.frame, payload)

    def _make(self, event: Event, payload: Json) -> Frame:
        return self._context.writer.make(payload, event.frame.number)


def finishing(payload: Json, **fields: Json) -> Json:
    """The payload with these fields in each of its choices that has a finish reason."""
    choices = [
        {**choice, **fields} if json_access.get(choice, "finish_reason") else choice
        for choice in json_access.items(json_access.get(payload, "choices"))
    ]
    return {**payload, "choices": choices}


def every(payload: Json, **fields: Json) -> Json:
    """The payload with these fields in each of its choices."""
    return {
        **payload,
        "choices": [{**choice, **fields} for choice in json_access.items(json_access.get(payload, "choices"))],
    }


class FinishInjector(EventInjector):
    """Changes the event that says the finish reason."""

    def _changed(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        del found
        reasons = [finish.reason for finish in event.content.finishes if finish.reason]
        if not reasons or not self.calls:
            return [event.frame]
        return self._finish(event, reasons[0])

    def _finish(self, event: Event, reason: str) -> Iterable[Frame]:
        raise NotImplementedError
