"""A thread that does what would keep the proxy's loop from its streams: redact, and wait for the disk."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


ROOM = 32 * 1024 * 1024
"""Bytes that may wait to be worked on."""


class Owner(Protocol):
    """What jobs belong to."""

    def give_up(self, error: Exception) -> None:
        """Take the error of a job, in the worker's thread."""


class Worker:
    """Runs jobs one by one, in order. The thread is there from the first job on."""

    def __init__(self) -> None:
        """Nothing runs."""
        self._jobs: deque[tuple[Callable[[], None], Owner, int]] = deque()
        self._waiting = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, job: Callable[[], None], owner: Owner, size: int = 0) -> bool:
        """Queue `job`; return `False`, and drop it, where there is no room for its bytes.

        Never waits: all streams would stand still. What else waits of the same `owner` is dropped then. The owner gets
        the exception of a job that raises; the thread goes on.
        """
        with self._changed:
            if size and self._waiting >= ROOM:
                dropped = [one for one in self._jobs if one[1] is owner]
                self._jobs = deque(one for one in self._jobs if one[1] is not owner)
                self._waiting -= sum(one[2] for one in dropped)
                return False
            self._jobs.append((job, owner, size))
            self._waiting += size
            self._changed.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="toolstream-capture", daemon=True)
            self._thread.start()
        return True

    def close(self) -> None:
        """Wait until every job is done."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._closed = False

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._jobs) or self._closed)
                if not self._jobs:
                    return
                job, owner, size = self._jobs.popleft()
            try:
                job()
            except Exception as error:  # noqa: BLE001 - other captures go on
                owner.give_up(error)
            with self._changed:
                self._waiting -= size
                self._changed.notify_all()


class Batch:
    """Network reads, each of one or more chunks.

    Flat lists of bytes and numbers: Python's collector walks all other containers that live, again and again.
    """

    __slots__ = ("counts", "data", "sizes", "whens")

    def __init__(self) -> None:
        """Nothing came."""
        self.whens: list[float] = []
        """When each read came, in seconds of any clock that only goes on."""
        self.counts: list[int] = []
        """How many chunks each has."""
        self.data: list[bytes] = []
        """What each says."""
        self.sizes: list[int] = []
        """Bytes of the chunks of all of them, in order."""

    def add(self, when: float, data: bytes, sizes: Sequence[int]) -> None:
        """Take a read whose chunks have these sizes."""
        self.whens.append(when)
        self.data.append(data)
        self.counts.append(len(sizes))
        self.sizes += sizes
