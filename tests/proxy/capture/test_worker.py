from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from toolstream_core.proxy.capture import worker
from toolstream_core.proxy.capture.worker import Worker

if TYPE_CHECKING:
    import pytest


def test_jobs_run_in_order_beside_the_caller() -> None:
    """And all of them before it is closed; it can be used again."""
    done: list[int] = []
    threads: set[int] = set()
    made = Worker()
    for _ in range(2):
        for number in range(50):
            assert made.submit(partial(done.append, number), 10)
        made.submit(lambda: threads.add(threading.get_ident()))
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
    """After a short wait, so that memory is bounded and no stream stands still for long; a job without bytes goes."""
    monkeypatch.setattr(worker, "ROOM", 100)
    monkeypatch.setattr(worker, "PATIENCE", 0.05)
    gate, done = threading.Event(), list[int]()
    made = Worker()
    assert made.submit(lambda: done.append(bool(gate.wait(20))), 100)
    begun = time.monotonic()
    assert not made.submit(lambda: done.append(2), 1)
    assert 0.05 <= time.monotonic() - begun < 5
    assert made.submit(lambda: done.append(3))
    gate.set()
    made.close()
    assert done == [1, 3]
    assert made.submit(lambda: done.append(4), 1)
    made.close()
    assert done == [1, 3, 4]
