"""The thread that redacts captures and writes them, which would block the event loop."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

ROOM = 32 * 1024 * 1024
"""Bytes that may wait for the thread."""


class Owner(Protocol):
    """The owner of jobs."""

    def give_up(self, error: Exception) -> None:
        """Called with the exception of a job, in the worker's thread."""


class Worker:
    """Runs jobs in order. The thread starts with the first job."""

    def __init__(self) -> None:
        self._jobs: deque[tuple[Callable[[], None], Owner, int]] = deque()
        self._waiting = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, job: Callable[[], None], owner: Owner, size: int = 0) -> bool:
        """Queue `job`; return `False`, and drop all jobs of its `owner`, if too many bytes wait already.

        Never waits: that would block all streams. The owner gets the exception of a job; the thread continues.
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
            except Exception as error:  # noqa: BLE001 - other captures continue
                owner.give_up(error)
            with self._changed:
                self._waiting -= size
                self._changed.notify_all()
