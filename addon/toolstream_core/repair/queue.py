"""Waiting events, in order of arrival. Knows no protocol."""

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
    """One event waits because it may still change, and all after it because the order stays.

    A waiting event sends only its own part: later ones send the rest.
    """

    def __init__(self, frame_of: Callable[[T], Frame], *, most: int = MAX_EVENTS, patience: int = MAX_COMMENTS) -> None:
        self._frame_of = frame_of
        self._most, self._patience = most, patience
        self._queue: deque[T] = deque()
        self._going: list[T] = []
        """Events that no longer wait, until everything that is sent for them is complete."""
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
        self._going.clear()
        self._bytes = self._comments = 0

    @property
    def unsent(self) -> list[Frame]:
        """Events for which nothing was sent yet: after an internal error they are forwarded unchanged."""
        return [self._frame_of(one) for one in (*self._going, *self._queue)]

    def add(self, one: T) -> None:
        """The next event."""
        frame = self._frame_of(one)
        self._queue.append(one)
        self._bytes += len(frame.raw)
        self._comments += frame.data is None

    def forward(self, one: T) -> None:
        """An event that need not wait."""
        self._going.append(one)

    def sent(self) -> None:
        """Record that everything was sent for the events that no longer wait."""
        self._going.clear()

    @property
    def too_long(self) -> bool:
        """Whether nothing may wait any longer."""
        return len(self._queue) > self._most or self._bytes > MAX_BYTES or self._comments > self._patience

    def ready(self, waits: Waits[T]) -> Iterator[T]:
        """The events that no longer wait; `waits` gets the first one, and whether an event follows it."""
        while self._queue and not waits(self._queue[0], followed=len(self._queue) - self._comments > 1):
            one = self._queue.popleft()
            self._going.append(one)
            self._bytes -= len(self._frame_of(one).raw)
            self._comments -= self._frame_of(one).data is None
            yield one
