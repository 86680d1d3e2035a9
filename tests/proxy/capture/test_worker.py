from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from toolstream_core.proxy.capture import worker
from toolstream_core.proxy.capture.worker import Worker

if TYPE_CHECKING:
    import pytest


OWNER = object()


def test_a_job_that_raises_does_not_stop_others() -> None:
    """The memory of the job is free again."""
    done: list[int] = []
    jobs = Worker()
    assert jobs.submit(partial(done.remove, 1), OWNER, worker.ROOM)
    assert jobs.submit(partial(done.append, 1), OWNER)
    jobs.close()
    assert done == [1]
    assert jobs.submit(partial(done.append, 2), OWNER, worker.ROOM)
    jobs.close()
    assert done == [1, 2]


def test_jobs_run_in_order_in_another_thread() -> None:
    """Closing waits for all jobs, and a closed worker can be used again."""
    done: list[int] = []
    threads: set[int] = set()
    jobs = Worker()
    for _ in range(2):
        for number in range(50):
            assert jobs.submit(partial(done.append, number), OWNER, 10)
        jobs.submit(lambda: threads.add(threading.get_ident()), OWNER)
        jobs.close()
    assert done == [*range(50)] * 2
    assert threads
    assert threading.get_ident() not in threads


def test_no_thread_is_started_without_a_job() -> None:
    """A worker starts its thread with the first job."""
    before = threading.active_count()
    jobs = Worker()
    assert threading.active_count() == before
    jobs.close()


def test_a_job_is_refused_at_once_if_memory_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for memory would block the streams of the caller; a job without bytes is always accepted."""
    monkeypatch.setattr(worker, "ROOM", 100)
    running, gate, done = threading.Event(), threading.Event(), list[int]()

    def wait() -> None:
        running.set()
        done.append(bool(gate.wait(20)))

    jobs = Worker()
    assert jobs.submit(wait, OWNER, 100)
    assert running.wait(20)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Condition, "wait_for", None)
        assert not jobs.submit(lambda: done.append(2), OWNER, 1)
    assert jobs.submit(lambda: done.append(3), OWNER)
    gate.set()
    jobs.close()
    assert done == [1, 3]
    assert jobs.submit(lambda: done.append(4), OWNER, 1)
    jobs.close()
    assert done == [1, 3, 4]


def test_jobs_of_an_owner_that_gave_up_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of the dropped jobs is free for the jobs of other owners."""
    monkeypatch.setattr(worker, "ROOM", 100)
    running, gate, done = threading.Event(), threading.Event(), list[int]()

    def wait() -> None:
        running.set()
        gate.wait(20)

    jobs, long, short = Worker(), object(), object()
    assert jobs.submit(wait, short, 1)
    assert running.wait(20)
    assert jobs.submit(partial(done.append, 1), long, 99)
    assert not jobs.submit(partial(done.append, 2), long, 99)
    assert jobs.submit(partial(done.append, 3), short, 1)
    gate.set()
    jobs.close()
    assert done == [3]
