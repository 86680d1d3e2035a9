from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mitmproxy import http

from tests.proxy.flows import CHUNK, DONE, llm_flow
from toolstream_core.model import Chunk
from toolstream_core.proxy.capture import recording as module
from toolstream_core.proxy.capture.recording import Recording, Saves
from toolstream_core.proxy.flow_facts import NOTED
from toolstream_core.saved.flow import body_note

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pytest

    from toolstream_core.proxy.capture.body import TimedChunk
    from toolstream_core.proxy.capture.draft import Ending


class FakeDraft:
    """Replaces a draft and a worker, and lists the calls of their methods."""

    def __init__(self, *, room: bool = True) -> None:
        self.upstream: list[tuple[bytes, str]] = []
        self.client: list[bytes] = []
        self.ending: Ending | None = None
        self.ends: list[str] = []
        self.compares = False
        self._room = room

    def add_upstream(self, batch: Sequence[TimedChunk], coding: str) -> None:
        self.upstream += [(data, coding) for _, data in batch]

    def add_client(self, batch: Sequence[TimedChunk]) -> None:
        self.client += [data for _, data in batch]

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


def recording_of(flow: http.HTTPFlow, draft: FakeDraft, *, kept: bool = True) -> Recording:
    return Recording(flow, draft, draft, Saves(), lambda _: kept)  # type: ignore[arg-type]  # it has the methods in use


def test_chunks_are_added_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks are added to the draft when a batch is full and at the end; a second end adds nothing."""
    monkeypatch.setattr(module, "BATCH", 2 * len(CHUNK) + 500)
    flow, draft = llm_flow(), FakeDraft()
    assert flow.response is not None
    flow.response.headers["content-encoding"] = "gzip"
    recording = recording_of(flow, draft)
    take_client = recording.take_client()
    for chunk in (CHUNK, CHUNK, CHUNK, DONE):
        recording.take_upstream(1.0, chunk)
    before = len(draft.upstream)
    take_client(1.0, DONE)
    assert 0 < before < 4
    recording.end(flow, None, None, differs=True)
    recording.end(flow, None, "again", differs=True)
    assert draft.upstream == [(chunk, "gzip") for chunk in (CHUNK, CHUNK, CHUNK, DONE)]
    assert (draft.client, draft.ends, draft.compares) == ([DONE], ["finished", "discarded"], True)
    assert draft.ending is not None
    assert (draft.ending.broken, draft.ending.differs) == (None, True)


def test_the_capture_has_the_providers_status_and_headers() -> None:
    """Changes of status and headers for the client are not captured; the body is stored separately."""
    flow, draft = llm_flow(body=CHUNK), FakeDraft()
    assert flow.response is not None
    recording = recording_of(flow, draft)
    flow.response.headers["transfer-encoding"] = "chunked"
    flow.response.status_code = 500
    recording.end(flow, None, None, differs=False)
    assert draft.ending is not None
    response = draft.ending.state["response"]
    assert (response["status_code"], response["headers"], response["content"]) == (
        200,
        ((b"content-type", b"text/event-stream"),),
        b"",
    )


def test_the_content_length_of_a_replayed_response_is_not_captured() -> None:
    """The content length was added for the replay; the recorded response had none."""
    flow, draft = llm_flow(body=CHUNK), FakeDraft()
    assert flow.response is not None
    flow.response.headers["content-length"] = str(len(CHUNK))
    flow.metadata[NOTED] = body_note([Chunk(0, CHUNK)])
    recording_of(flow, draft).end(flow, None, None, differs=False)
    assert draft.ending is not None
    assert b"content-length" not in dict(draft.ending.state["response"]["headers"])


def test_a_response_to_a_changed_request_is_captured() -> None:
    """The capture has the request that the provider got and the response to it."""
    flow, draft = llm_flow(), FakeDraft()
    recording = recording_of(flow, draft)
    response = http.Response.make(200, b"{}", {"content-type": "application/json"})
    sent_request = flow.request.copy()
    sent_request.content = b'{"stream":false}'
    recording.response_started(response, sent_request)
    recording.end(flow, None, None, differs=False)
    assert draft.ending is not None
    assert draft.upstream == [(b"{}", "")]
    assert draft.ending.state["request"]["content"] == b'{"stream":false}'
    assert (b"content-type", b"application/json") in draft.ending.state["response"]["headers"]


def test_an_unwanted_capture_is_discarded() -> None:
    """A capture is discarded if its condition does not hold or if the disk is too slow."""
    flow, draft = llm_flow(), FakeDraft()
    recording_of(flow, draft, kept=False).end(flow, None, None, differs=False)
    assert draft.ends == ["discarded"]
    slow = FakeDraft(room=False)
    recording = recording_of(flow, slow)
    recording.take_upstream(1.0, CHUNK)
    recording.take_client()(1.0, CHUNK)
    recording.end(flow, None, None, differs=False)
    assert (slow.ends, slow.upstream) == (["OSError", "discarded"], [])


def test_saves_are_limited_to_a_share_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Saves of many responses take at most a fiftieth of the processor together."""
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    saves = Saves()
    saves.saved(1000, 0.01)
    assert [round(saves.wait(1000), 3) for _ in range(4)] == [0, 0.5, 1.0, 1.5]
    now = 101.9
    assert [round(saves.wait(2000), 3) for _ in range(2)] == [0.1, 1.1]
    now = 200.0
    assert saves.wait(1000) == 0
