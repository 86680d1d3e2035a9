"""Shapes that join or split events: all calls in one event; the finish reason with the last call, or by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, override

from toolstream_core.calls import ResolvedFragment
from toolstream_core.model import Event, EventContent, Json
from toolstream_core.stages.context import Context
from toolstream_core.stages.repair.repairer import MAX_BYTES
from toolstream_core.stages.stage import Stage
from toolstream_core.wire.frame import Frame

CALLS_IN_ONE_EVENT: Final = "calls-in-one-event"
FINISH_WITH_CALLS: Final = "finish-with-calls"
FINISH_APART: Final = "finish-apart"


class JoinedEvents(Stage):
    """Joins events with calls that directly follow each other, or the last of them and the finish reason."""

    def __init__(
        self, context: Context, joined: Callable[[Sequence[Json]], Json | None], *, with_finish: bool = False
    ) -> None:
        """`joined`: events as one, or `None` if that would lose a key; `with_finish`: join a call and the finish."""
        super().__init__(context)
        self._joined, self._with_finish = joined, with_finish
        self._held: list[Frame] = []
        self._size = 0

    @property
    @override
    def holding(self) -> bool:
        return bool(self._held)

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, content = event.frame, event.content
        readable = isinstance(frame.json, dict) and not frame.trailing
        is_call = readable and _is_call(content)
        if self._with_finish and self._held and readable and _is_finish(content):
            self._hold(frame)
            return self._sent()
        continues = is_call and not self._with_finish and self._size < MAX_BYTES
        before = () if continues else self._sent()
        if not is_call:
            return [*before, frame]
        self._hold(frame)
        return before

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        return self._sent()

    @override
    def release(self) -> list[Frame]:
        held, self._held, self._size = self._held, [], 0
        return held

    def _hold(self, frame: Frame) -> None:
        self._held.append(frame)
        self._size += len(frame.raw)

    def _sent(self) -> list[Frame]:
        """The held events as one."""
        held = self.release()
        payload = self._joined([frame.json for frame in held]) if len(held) > 1 else None
        return held if payload is None else [self._context.writer.rewrite(held[0], payload)]


class FinishApart(Stage):
    """Sends the finish reason of an event with content in an event of its own."""

    def __init__(self, context: Context, split: Callable[[Json], Sequence[Json]]) -> None:
        """`split`: an event as its content and its finish reason, or the same event."""
        super().__init__(context)
        self._split = split

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, content, writer = event.frame, event.content, self._context.writer
        if not content.finishes or content.error or _is_finish(content) or not isinstance(frame.json, dict):
            return [frame]
        first, *more = self._split(frame.json)
        if not more:
            return [frame]
        return [writer.rewrite(frame, first), *(writer.make(one, frame.number, frame.name) for one in more)]


def _is_call(content: EventContent) -> bool:
    """Whether an event has calls and nothing else."""
    ends = content.finishes or content.end or content.error
    return bool(content.fragments) and not (ends or content.text or content.thought)


def _is_finish(content: EventContent) -> bool:
    """Whether an event has a finish reason and nothing else."""
    return bool(content.finishes) and not (content.fragments or content.error or content.text or content.thought)
