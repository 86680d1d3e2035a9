"""Shapes that group events: several calls in one event, interleaved calls, the finish reason with a call or apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import zip_longest
from typing import Final, override

from toolstream_core.calls import ResolvedFragment
from toolstream_core.model import Event, EventContent, Json
from toolstream_core.stages.context import Context
from toolstream_core.stages.repair.repairer import MAX_BYTES
from toolstream_core.stages.stage import Stage, StageMaker
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.write import Writer

CALLS_IN_ONE_EVENT: Final = "calls-in-one-event"
FINISH_APART: Final = "finish-apart"
FINISH_WITH_CALLS: Final = "finish-with-calls"
INTERLEAVED: Final = "interleaved"
_NUMBER: Final = "sequence_number"

type Regroup = Callable[[Sequence[Event], Writer], Sequence[Frame]]
"""Returns the frames to send for consecutive events with calls."""
type Join = Callable[[Sequence[Json]], Json | None]
"""Joins events; `None` if that would lose a key."""


class Regrouped(Stage):
    """Holds consecutive events with calls, and sends them in another grouping or order."""

    def __init__(self, context: Context, regroup: Regroup, *, with_finish: bool = False) -> None:
        """`with_finish`: regroup only the last of these events, with the finish reason that follows it."""
        super().__init__(context)
        self._regroup, self._with_finish = regroup, with_finish
        self._held: list[Event] = []
        self._size = 0

    @property
    @override
    def holding(self) -> bool:
        return bool(self._held)

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        readable = isinstance(event.frame.json, dict) and not event.frame.trailing
        is_call = readable and _is_call(event.content)
        if self._with_finish and self._held and readable and _is_finish(event.content):
            self._hold(event)
            return self._sent()
        continues = is_call and not self._with_finish and self._size < MAX_BYTES
        before = () if continues else self._sent()
        if not is_call:
            return [*before, event.frame]
        self._hold(event)
        return before

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        return self._sent()

    @override
    def release(self) -> list[Frame]:
        held, self._held, self._size = self._held, [], 0
        return [one.frame for one in held]

    def _hold(self, event: Event) -> None:
        self._held.append(event)
        self._size += len(event.frame.raw)

    def _sent(self) -> Sequence[Frame]:
        held = self._held
        frames = self._regroup(held, self._context.writer) if len(held) > 1 else [one.frame for one in held]
        self.release()
        return frames


def in_one_event(join: Join) -> Regroup:
    """Sends the events as one."""

    def regroup(events: Sequence[Event], writer: Writer) -> list[Frame]:
        payload = join([one.frame.json for one in events])
        return [one.frame for one in events] if payload is None else [writer.rewrite(events[0].frame, payload)]

    return regroup


def interleaved(events: Sequence[Event], writer: Writer) -> list[Frame]:
    """The events of several calls alternating, with ascending sequence numbers."""
    by_call: dict[Json, list[Event]] = {}
    for one in events:
        fragments = one.content.fragments
        if len(fragments) != 1 or not isinstance(fragments[0].index, int):
            return [each.frame for each in events]
        by_call.setdefault(fragments[0].index, []).append(one)
    order = [one.frame for turn in zip_longest(*by_call.values()) for one in turn if one is not None]
    numbers = [json.get(_NUMBER) for each in events if isinstance(json := each.frame.json, dict)]
    return [_numbered(frame, number, writer) for frame, number in zip(order, numbers, strict=True)]


def _numbered(frame: Frame, number: Json, writer: Writer) -> Frame:
    payload = frame.json
    assert isinstance(payload, dict)
    return frame if payload.get(_NUMBER) == number else writer.rewrite(frame, {**payload, _NUMBER: number})


INTERLEAVES: Final[StageMaker] = partial(Regrouped, regroup=interleaved)


class Rewritten(Stage):
    """Replaces an event by one or more others, independent of earlier events."""

    def __init__(self, context: Context, rewrite: Callable[[Event], Sequence[Json]], *, each: bool = False) -> None:
        """`rewrite`: the payloads; the same object for an event that is forwarded unchanged. `each`: as in `Stage`."""
        super().__init__(context)
        self._rewrite, self.each = rewrite, each

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, writer = event.frame, self._context.writer
        if not isinstance(frame.json, dict):
            return [frame]
        first, *more = self._rewrite(event)
        if first is frame.json:
            return [frame]
        return [writer.rewrite(frame, first), *(writer.make(one, frame.number, frame.name) for one in more)]


class Preceded(Stage):
    """Sends a new event before the first event that needs it."""

    each = True

    def __init__(self, context: Context, before: Callable[[Event], Json | None]) -> None:
        """`before`: the payload of the new event; `None` if an event needs none."""
        super().__init__(context)
        self._before = before
        self._sent = False

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame = event.frame
        payload = None if self._sent or not isinstance(frame.json, dict) else self._before(event)
        if payload is None:
            self._sent = self._sent or bool(event.content.text)
            return [frame]
        self._sent = True
        return [self._context.writer.make(payload, frame.number), frame]


def _is_call(content: EventContent) -> bool:
    """Whether an event has calls and nothing else."""
    ends = content.finishes or content.end or content.error
    return bool(content.fragments) and not (ends or content.text or content.thought)


def _is_finish(content: EventContent) -> bool:
    """Whether an event has a finish reason and nothing else."""
    return bool(content.finishes) and not (content.fragments or content.error or content.text or content.thought)


def has_finish_and_content(content: EventContent) -> bool:
    """Whether an event has a finish reason, and calls or text."""
    return bool(content.finishes) and not (content.error or _is_finish(content))
