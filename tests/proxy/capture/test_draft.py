from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from mitmproxy import http

from tests.e2e.harness.captures import metadata, read
from tests.proxy.flows import CHUNK, DONE, SECRET, llm_flow
from toolstream_core.engine.session import read_body
from toolstream_core.proxy.capture.body import Store
from toolstream_core.proxy.capture.draft import Draft, Ending
from toolstream_core.proxy.capture.folder import Folder, QuotaError
from toolstream_core.redaction import Redaction
from toolstream_core.saved.flow import facts_of, read_flow, request_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


BATCH = [(5.0, CHUNK[:50]), (5.01, CHUNK[50:]), (5.2, DONE)]
BODY = CHUNK + DONE


class CaptureFolder:
    """A folder of captures and the errors of captures that failed."""

    def __init__(self, path: Path, limit: int = 10**6) -> None:
        self.path = path
        self.errors: list[tuple[str, Exception]] = []
        self.drafts: list[Draft] = []
        self.store = Store(Folder(path, limit), Redaction(), lambda *error: self.errors.append(error), lambda _: None)

    def draft(self, flow: http.HTTPFlow) -> Draft:
        self.drafts.append(Draft(self.store, flow.id, flow.request))
        return self.drafts[-1]

    def only_capture(self) -> http.HTTPFlow:
        """Return the only capture in the folder, read by mitmproxy."""
        [path] = self.path.glob("*.flow")
        return read(path)


@pytest.fixture
def captures(tmp_path: Path) -> Iterator[CaptureFolder]:
    """Yield an empty folder of captures."""
    folder = CaptureFolder(tmp_path)
    yield folder
    for draft in folder.drafts:
        draft.discard()


def ending(flow: http.HTTPFlow, broken: str | None = None, *, differs: bool = False) -> Ending:
    """Return the ending of a flow whose response is `BODY`."""
    record = read_body([BODY], facts_of(flow, request_json(flow.request)), broken=broken)
    return Ending(flow.get_state(), record, broken, differs)


def test_a_capture_can_be_read_by_mitmproxy_and_toolstream(captures: CaptureFolder) -> None:
    """A capture is redacted, named by time, protocol and model, and readable as a flow and as a fixture."""
    flow = llm_flow()
    draft = captures.draft(flow)
    draft.add_upstream(BATCH, "")
    draft.finish(ending(flow))
    assert captures.errors == []
    [path] = captures.path.iterdir()
    assert path.name.endswith("-openai-chat-m-0001.flow")
    assert SECRET.encode() not in path.read_bytes()
    capture = captures.only_capture()
    assert (capture.id, capture.error) == (flow.id, None)
    assert metadata(capture)["chunks"] == [[0, 50], [10, len(CHUNK) - 50], [200, len(DONE)]]
    assert metadata(capture)["record"]["calls"][0]["events"] == [0]
    assert metadata(capture).keys() == {"version", "chunks", "text", "record"}
    fixture = read_flow(capture, "x#0")
    assert fixture is not None
    assert ([chunk.data for chunk in fixture.chunks], fixture.record.broken) == ([data for _, data in BATCH], None)


@pytest.mark.parametrize(
    ("client", "differs", "stored"), [(BODY, False, False), (DONE, False, True), (BODY, True, True), (b"", True, False)]
)
def test_the_body_sent_to_the_client_is_stored_if_it_differs(
    captures: CaptureFolder, client: bytes, differs: bool, stored: bool
) -> None:
    """The sent body is stored only if its bytes or its timing differ from the provider's."""
    flow = llm_flow()
    draft = captures.draft(flow)
    draft.compares = True
    draft.add_upstream(BATCH, "")
    if client:
        draft.add_client([(7.0, client[:5]), (7.1, client[5:])])
    draft.finish(ending(flow, differs=differs))
    expected = {"body": client, "chunks": [[0, 5], [100, len(client) - 5]]}
    assert metadata(captures.only_capture()).get("sent") == (expected if stored else None)


def test_a_truncated_response_keeps_its_body_and_error(captures: CaptureFolder) -> None:
    """An error that only toolstream knows becomes the error of the flow."""
    flow = llm_flow()
    draft = captures.draft(flow)
    draft.add_upstream([(5.0, CHUNK[:50])], "")
    draft.finish(ending(flow, "the proxy was stopped"))
    capture = captures.only_capture()
    assert capture.error is not None
    assert capture.error.msg == metadata(capture)["broken"] == "the proxy was stopped"
    assert getattr(capture.response, "raw_content", None) == CHUNK[:50]


def test_headers_describe_the_decoded_body(captures: CaptureFolder) -> None:
    """The content coding is removed, and the content length is that of the decoded body."""
    flow = llm_flow()
    assert flow.response is not None
    flow.response.headers["content-encoding"] = "identity"
    flow.response.headers["Content-Length"] = "3"
    draft = captures.draft(flow)
    draft.add_upstream(BATCH, "identity")
    draft.finish(ending(flow))
    response = captures.only_capture().response
    assert response is not None
    assert dict(response.headers) == {"content-type": "text/event-stream", "Content-Length": str(len(BODY))}
    assert response.content == BODY


def test_a_body_that_cannot_be_decoded_is_left_out(captures: CaptureFolder) -> None:
    """A capture without a decodable body keeps status and headers and has a finding that says why."""
    flow = llm_flow()
    assert flow.response is not None
    flow.response.headers["content-encoding"] = "gzip"
    draft = captures.draft(flow)
    draft.add_upstream(BATCH, "gzip")
    exchange = replace(facts_of(flow, request_json(flow.request)), content_encoding="gzip")
    draft.finish(Ending(flow.get_state(), read_body([BODY], exchange), None, differs=False))
    capture = captures.only_capture()
    assert capture.response is not None
    assert (capture.response.raw_content, capture.response.headers["content-encoding"]) == (b"", "gzip")
    assert (metadata(capture)["chunks"], capture.response.status_code) == ([], 200)
    assert [finding["name"] for finding in metadata(capture)["record"]["findings"]] == ["unreadable-body"]


def test_a_request_without_a_response_is_captured(captures: CaptureFolder) -> None:
    """The file name has the protocol and the model of the request."""
    flow = llm_flow()
    flow.response = None
    captures.draft(flow).finish(Ending(flow.get_state(), None, "connection refused", differs=False))
    [path] = captures.path.iterdir()
    assert path.name.endswith("-openai-chat-m-0001.flow")
    assert captures.only_capture().response is None


def test_a_failed_capture_is_reported_once(tmp_path: Path) -> None:
    """After a capture failed, later chunks and errors are ignored and no file is written."""
    captures = CaptureFolder(tmp_path, limit=1)
    flow = llm_flow()
    draft = captures.draft(flow)
    with pytest.raises(QuotaError) as raised:
        draft.add_upstream(BATCH, "")
    draft.give_up(raised.value)
    draft.give_up(OSError())
    draft.add_upstream(BATCH, "")
    draft.finish(ending(flow))
    draft.discard()
    assert captures.errors == [(flow.id, raised.value)]
    assert list(tmp_path.iterdir()) == []
