"""The thread that redacts captures and writes them, which would block the event loop."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

ROOM = 32 * 1024 * 1024
"""Bytes that may wait for the thread."""
_new_thread = partial(ThreadPoolExecutor, 1, "toolstream-capture")


class Worker:
    """Runs jobs in order. The thread starts with the first job."""

    def __init__(self) -> None:
        self._thread = _new_thread()
        self._jobs: dict[Future[None], tuple[object, int]] = {}
        """The jobs that are not done, with their owners and sizes."""

    def submit(self, job: Callable[[], None], owner: object, size: int = 0) -> bool:
        """Queue `job`; return `False`, and drop all jobs of its `owner`, if too many bytes wait already.

        Never waits: that would block all streams.
        """
        jobs = self._jobs.copy()
        if size and sum(one for _, one in jobs.values()) >= ROOM:
            for future, (other, _) in jobs.items():
                if other is owner:
                    future.cancel()
            return False
        future = self._thread.submit(job)
        self._jobs[future] = owner, size
        future.add_done_callback(self._jobs.pop)
        return True

    def close(self) -> None:
        """Wait until every job is done."""
        self._thread.shutdown()
        self._thread = _new_thread()
