from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy import http
from mitmproxy.io import FlowReader

from tests.proxy.flows import CHUNK, DONE, SECRET, llm_flow
from toolstream_core.engine.session import read_body
from toolstream_core.proxy.capture.body import Shared
from toolstream_core.proxy.capture.draft import Draft, Ending, SlowDiskError, Store
from toolstream_core.proxy.capture.folder import Folder, QuotaError
from toolstream_core.proxy.capture.worker import Batch
from toolstream_core.redaction import Redaction
from toolstream_core.saved.flow import facts_of, read_flow, request_json

if TYPE_CHECKING:
    from pathlib import Path


def came(*chunks: tuple[float, bytes]) -> Batch:
    """Chunks that came one by one."""
    batch = Batch()
    for when, data in chunks:
        batch.add(when, data, [len(data)])
    return batch


BATCH = came((5.0, CHUNK[:50]), (5.01, CHUNK[50:]), (5.2, DONE))
WHOLE = CHUNK + DONE


class Kept:
    """A folder of captures, and what could not be captured."""

    def __init__(self, path: Path, limit: int = 10**6) -> None:
        self.path = path
        self.errors: list[tuple[str, Exception]] = []
        self.store = Store(
            Folder(path, limit), Shared(path, Redaction()), lambda *told: self.errors.append(told), lambda _: None
        )

    def draft(self, flow: http.HTTPFlow) -> Draft:
        return Draft(self.store, flow.id, flow.request)

    def read(self) -> http.HTTPFlow:
        """The only capture, as mitmproxy reads it."""
        [path] = self.path.glob("*.flow")
        [flow] = FlowReader(io.BytesIO(path.read_bytes())).stream()
        assert isinstance(flow, http.HTTPFlow)
        return flow


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """A folder without captures."""
    return Kept(tmp_path)


def over(flow: http.HTTPFlow, broken: str | None = None, *, differs: bool = False) -> Ending:
    """A flow that is over, its answer as in `WHOLE`."""
    record = read_body([WHOLE], facts_of(flow, request_json(flow.request)), broken=broken)
    return Ending(flow.get_state(), record, broken, differs)


def noted(flow: http.HTTPFlow) -> dict[str, Any]:
    """What toolstream says of a flow."""
    said: dict[str, Any] = flow.metadata["toolstream"]
    return said


def test_a_capture(kept: Kept) -> None:
    """Opens in mitmproxy, is a fixture, and holds no secret; its name says when, what and who."""
    flow = llm_flow()
    draft = kept.draft(flow)
    draft.add_upstream(BATCH, "")
    draft.finish(over(flow))
    assert kept.errors == []
    [path] = kept.path.iterdir()
    assert path.name.endswith("-openai-chat-m-0001.flow")
    assert SECRET.encode() not in path.read_bytes()
    capture = kept.read()
    assert (capture.id, capture.error) == (flow.id, None)
    assert noted(capture)["chunks"] == [[0, 50], [10, len(CHUNK) - 50], [200, len(DONE)]]
    assert noted(capture)["record"]["calls"][0]["events"] == [0]
    assert noted(capture).keys() == {"version", "chunks", "text", "record"}
    fixture = read_flow(capture, "x#0")
    assert fixture is not None
    assert ([chunk.data for chunk in fixture.chunks], fixture.record.broken) == (BATCH.data, None)


@pytest.mark.parametrize(
    ("client", "differs", "told"), [(WHOLE, False, False), (DONE, False, True), (WHOLE, True, True), (b"", True, False)]
)
def test_what_the_client_got(kept: Kept, client: bytes, differs: bool, told: bool) -> None:
    """Only where it is something else, or came otherwise on purpose."""
    flow = llm_flow()
    draft = kept.draft(flow)
    draft.compares = True
    draft.add_upstream(BATCH, "")
    if client:
        draft.add_client(came((7.0, client[:5]), (7.1, client[5:])))
    draft.finish(over(flow, differs=differs))
    expected = {"body": client, "chunks": [[0, 5], [100, len(client) - 5]]}
    assert noted(kept.read()).get("sent") == (expected if told else None)


def test_a_broken_answer(kept: Kept) -> None:
    """Keeps its body and its error; one that only toolstream knows of becomes the flow's."""
    flow = llm_flow()
    draft = kept.draft(flow)
    draft.add_upstream(came((5.0, CHUNK[:50])), "")
    draft.finish(over(flow, "the proxy was stopped"))
    capture = kept.read()
    assert capture.error is not None
    assert capture.error.msg == noted(capture)["broken"] == "the proxy was stopped"
    assert getattr(capture.response, "raw_content", None) == CHUNK[:50]


def test_the_headers_fit_the_body(kept: Kept) -> None:
    """The coding is undone; a length is that of the decoded bytes."""
    flow = llm_flow()
    assert flow.response is not None
    flow.response.headers["content-encoding"] = "identity"
    flow.response.headers["Content-Length"] = "3"
    draft = kept.draft(flow)
    draft.add_upstream(BATCH, "identity")
    draft.finish(over(flow))
    response = kept.read().response
    assert response is not None
    assert dict(response.headers) == {"content-type": "text/event-stream", "Content-Length": str(len(WHOLE))}
    assert response.content == WHOLE


def test_a_body_that_cannot_be_decoded_is_left_out(kept: Kept) -> None:
    """Status and headers stay, and the record says why."""
    flow = llm_flow()
    assert flow.response is not None
    flow.response.headers["content-encoding"] = "gzip"
    draft = kept.draft(flow)
    draft.add_upstream(BATCH, "gzip")
    exchange = replace(facts_of(flow, request_json(flow.request)), content_encoding="gzip")
    draft.finish(Ending(flow.get_state(), read_body([WHOLE], exchange), None, differs=False))
    capture = kept.read()
    assert capture.response is not None
    assert (capture.response.raw_content, capture.response.headers["content-encoding"]) == (b"", "gzip")
    assert (noted(capture)["chunks"], capture.response.status_code) == ([], 200)
    assert [finding["name"] for finding in noted(capture)["record"]["findings"]] == ["unreadable-body"]


def test_a_request_without_an_answer(kept: Kept) -> None:
    """Named by what it asked for."""
    flow = llm_flow()
    flow.response = None
    kept.draft(flow).finish(Ending(flow.get_state(), None, "connection refused", differs=False))
    [path] = kept.path.iterdir()
    assert path.name.endswith("-openai-chat-m-0001.flow")
    assert kept.read().response is None


def test_what_fails_is_told_once(tmp_path: Path) -> None:
    """And nothing is written, whatever comes after."""
    kept = Kept(tmp_path, limit=1)
    flow = llm_flow()
    draft = kept.draft(flow)
    with pytest.raises(QuotaError) as raised:
        draft.add_upstream(BATCH, "")
    draft.give_up(raised.value)
    draft.give_up(SlowDiskError())
    draft.add_upstream(BATCH, "")
    draft.finish(over(flow))
    draft.discard()
    assert kept.errors == [(flow.id, raised.value)]
    assert list(tmp_path.iterdir()) == []
