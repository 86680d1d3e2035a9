"""A queue of events that wait because a later event may change them. Knows no protocol."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from toolstream_core.stages.repair.repairer import MAX_BYTES, MAX_COMMENTS, MAX_EVENTS
from toolstream_core.wire.frame import Frame


class Waits[T](Protocol):
    """Whether the first event still waits; `followed`: whether another one waits after it."""

    def __call__(self, first: T, /, *, followed: bool) -> bool: ...


class Queue[T]:
    """The first event waits because it may still change, the others because their order is kept.

    An event is sent with the arguments up to it; later events have the rest.
    """

    def __init__(self, frame_of: Callable[[T], Frame], *, most: int = MAX_EVENTS, patience: int = MAX_COMMENTS) -> None:
        self._frame_of = frame_of
        self._most, self._patience = most, patience
        self._queue: deque[T] = deque()
        self._leaving: list[T] = []
        """Events that no longer wait, and for which not all frames were sent."""
        self._bytes = self._comments = 0

    def __len__(self) -> int:
        """The number of waiting events."""
        return len(self._queue)

    def __iter__(self) -> Iterator[T]:
        """The waiting events."""
        return iter(self._queue)

    def clear(self) -> None:
        """Remove all waiting events."""
        self._queue.clear()
        self._leaving.clear()
        self._bytes = self._comments = 0

    @property
    def unsent(self) -> list[Frame]:
        """Events for which nothing was sent yet: after an internal error they are forwarded unchanged."""
        return [self._frame_of(event) for event in (*self._leaving, *self._queue)]

    def add(self, event: T) -> None:
        """Add an event."""
        frame = self._frame_of(event)
        self._queue.append(event)
        self._bytes += len(frame.raw)
        self._comments += frame.data is None

    def note_forwarded(self, event: T) -> None:
        """Note an event that need not wait."""
        self._leaving.append(event)

    def note_sent(self) -> None:
        """Note that all frames were sent for the events that no longer wait."""
        self._leaving.clear()

    @property
    def too_long(self) -> bool:
        """Whether nothing may wait any longer."""
        return len(self._queue) > self._most or self._bytes > MAX_BYTES or self._comments > self._patience

    def ready(self, waits: Waits[T]) -> Iterator[T]:
        """Remove and yield the events that no longer wait."""
        while self._queue and not waits(self._queue[0], followed=len(self._queue) - self._comments > 1):
            event = self._queue.popleft()
            self._leaving.append(event)
            self._bytes -= len(self._frame_of(event).raw)
            self._comments -= self._frame_of(event).data is None
            yield event
