from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mitmproxy import http

from tests.proxy.flows import CHUNK, DONE, llm_flow
from toolstream_core.proxy.capture import recording as module
from toolstream_core.proxy.capture.recording import Recording, Saves
from toolstream_core.proxy.flow_facts import note_chunks
from toolstream_core.shrinking.candidate import Chunk

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from toolstream_core.proxy.capture.draft import Ending
    from toolstream_core.proxy.capture.worker import Batch


class Listed:
    """Takes the place of a draft and of a worker: what was asked of them."""

    def __init__(self, *, room: bool = True) -> None:
        self.upstream: list[tuple[bytes, str]] = []
        self.client: list[bytes] = []
        self.ending: Ending | None = None
        self.ends: list[str] = []
        self.compares = False
        self._room = room

    def add_upstream(self, batch: Batch, coding: str) -> None:
        self.upstream += [(data, coding) for data in batch.data]

    def add_client(self, batch: Batch) -> None:
        self.client += batch.data

    def finish(self, ending: Ending) -> None:
        self.ending = ending
        self.ends.append("finished")

    def discard(self) -> None:
        self.ends.append("discarded")

    def give_up(self, error: Exception) -> None:
        self.ends.append(type(error).__name__)

    def submit(self, job: Callable[[], None], owner: object, size: int = 0) -> bool:
        del owner
        if size and not self._room:
            return False
        job()
        return True


def recorded(flow: http.HTTPFlow, listed: Listed, *, kept: bool = True) -> Recording:
    """A recording of a flow."""
    return Recording(flow, listed, listed, Saves(), lambda _: kept)  # type: ignore[arg-type]  # they do what is needed


def test_chunks_are_handed_on_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """When they are worth it, and at the end; once it is over, nothing more is."""
    monkeypatch.setattr(module, "BATCH", 2 * len(CHUNK) + 500)
    flow, listed = llm_flow(), Listed()
    assert flow.response is not None
    flow.response.headers["content-encoding"] = "gzip"
    one = recorded(flow, listed)
    take_client = one.take_client()
    for chunk in (CHUNK, CHUNK, CHUNK, DONE):
        one.take_upstream(1.0, chunk, (len(chunk),))
    before = len(listed.upstream)
    take_client(1.0, DONE, (len(DONE),))
    assert 0 < before < 4
    one.end(flow, None, None, differs=True)
    one.end(flow, None, "again", differs=True)
    assert listed.upstream == [(chunk, "gzip") for chunk in (CHUNK, CHUNK, CHUNK, DONE)]
    assert (listed.client, listed.ends, listed.compares) == ([DONE], ["finished", "discarded"], True)
    assert listed.ending is not None
    assert (listed.ending.broken, listed.ending.differs) == (None, True)


def test_the_head_is_upstreams() -> None:
    """Whatever is done to it for the client; the body is kept elsewhere."""
    flow, listed = llm_flow(body=CHUNK), Listed()
    assert flow.response is not None
    one = recorded(flow, listed)
    flow.response.headers["transfer-encoding"] = "chunked"
    flow.response.status_code = 500
    one.end(flow, None, None, differs=False)
    assert listed.ending is not None
    response = listed.ending.state["response"]
    assert (response["status_code"], response["headers"], response["content"]) == (
        200,
        ((b"content-type", b"text/event-stream"),),
        b"",
    )


def test_the_length_of_a_provided_answer_is_none_that_was_recorded() -> None:
    """The provider needs one; the answer came without."""
    flow, listed = llm_flow(body=CHUNK), Listed()
    assert flow.response is not None
    flow.response.headers["content-length"] = str(len(CHUNK))
    note_chunks(flow, [Chunk(0, CHUNK)], None)
    recorded(flow, listed).end(flow, None, None, differs=False)
    assert listed.ending is not None
    assert b"content-length" not in dict(listed.ending.state["response"]["headers"])


def test_an_answer_that_was_asked_for_otherwise() -> None:
    """Its own head and body, and the request that upstream got."""
    flow, listed = llm_flow(), Listed()
    one = recorded(flow, listed)
    response = http.Response.make(200, b"{}", {"content-type": "application/json"})
    asked = flow.request.copy()
    asked.content = b'{"stream":false}'
    one.response_started(response, asked)
    one.end(flow, None, None, differs=False)
    assert listed.ending is not None
    assert listed.upstream == [(b"{}", "")]
    assert listed.ending.state["request"]["content"] == b'{"stream":false}'
    assert (b"content-type", b"application/json") in listed.ending.state["response"]["headers"]


def test_what_is_not_wanted_is_discarded() -> None:
    """Nothing of it is written; nor of what came too fast, which is told once."""
    flow, listed = llm_flow(), Listed()
    recorded(flow, listed, kept=False).end(flow, None, None, differs=False)
    assert listed.ends == ["discarded"]
    slow = Listed(room=False)
    one = recorded(flow, slow)
    one.take_upstream(1.0, CHUNK, (len(CHUNK),))
    one.take_client()(1.0, CHUNK, (len(CHUNK),))
    one.end(flow, None, None, differs=False)
    assert (slow.ends, slow.upstream) == (["SlowDiskError", "discarded"], [])


def test_saves_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """All together have a fiftieth of the processor, however many responses are due at once."""
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    saves = Saves()
    saves.saved(1000, 0.01)
    assert [round(saves.wait(1000), 3) for _ in range(4)] == [0, 0.5, 1.0, 1.5]
    now = 101.9
    assert [round(saves.wait(2000), 3) for _ in range(2)] == [0.1, 1.1]
    now = 200.0
    assert saves.wait(1000) == 0
