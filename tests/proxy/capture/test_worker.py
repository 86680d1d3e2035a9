from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from toolstream_core.proxy.capture import worker
from toolstream_core.proxy.capture.worker import Worker

if TYPE_CHECKING:
    import pytest


class Listing:
    """An owner of jobs, and the errors that it got."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []

    def give_up(self, error: Exception) -> None:
        self.errors.append(error)


OWNER = Listing()


def test_a_job_that_raises_stops_no_other() -> None:
    """Its owner gets the exception; its room is free again."""
    done: list[int] = []
    made, owner = Worker(), Listing()
    assert made.submit(partial(done.remove, 1), owner, worker.ROOM)
    assert made.submit(partial(done.append, 1), owner)
    made.close()
    assert (done, {type(error) for error in owner.errors}) == ([1], {ValueError})
    assert made.submit(partial(done.append, 2), owner, worker.ROOM)
    made.close()
    assert done == [1, 2]


def test_jobs_run_in_order_beside_the_caller() -> None:
    """And all of them before it is closed; it can be used again."""
    done: list[int] = []
    threads: set[int] = set()
    made = Worker()
    for _ in range(2):
        for number in range(50):
            assert made.submit(partial(done.append, number), OWNER, 10)
        made.submit(lambda: threads.add(threading.get_ident()), OWNER)
        made.close()
    assert done == [*range(50)] * 2
    assert threads
    assert threading.get_ident() not in threads


def test_nothing_to_do() -> None:
    """No thread is started for it."""
    before = threading.active_count()
    made = Worker()
    assert threading.active_count() == before
    made.close()


def test_what_finds_no_room_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, because the caller's streams would stand still; a job without bytes goes."""
    monkeypatch.setattr(worker, "ROOM", 100)
    running, gate, done = threading.Event(), threading.Event(), list[int]()

    def wait() -> None:
        running.set()
        done.append(bool(gate.wait(20)))

    made = Worker()
    assert made.submit(wait, OWNER, 100)
    assert running.wait(20)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Condition, "wait_for", None)
        assert not made.submit(lambda: done.append(2), OWNER, 1)
    assert made.submit(lambda: done.append(3), OWNER)
    gate.set()
    made.close()
    assert done == [1, 3]
    assert made.submit(lambda: done.append(4), OWNER, 1)
    made.close()
    assert done == [1, 3, 4]


def test_what_is_given_up_leaves_its_room_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own jobs that wait are dropped, and nobody else's."""
    monkeypatch.setattr(worker, "ROOM", 100)
    running, gate, done = threading.Event(), threading.Event(), list[int]()

    def wait() -> None:
        running.set()
        gate.wait(20)

    made, long, short = Worker(), Listing(), Listing()
    assert made.submit(wait, short, 1)
    assert running.wait(20)
    assert made.submit(partial(done.append, 1), long, 99)
    assert not made.submit(partial(done.append, 2), long, 99)
    assert made.submit(partial(done.append, 3), short, 1)
    gate.set()
    made.close()
    assert done == [3]
