from __future__ import annotations

import errno
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.flow import Error
from mitmproxy.test import tflow

from tests.conftest import FLOWS
from tests.proxy.flows import flow_file
from tests.saved.flows import chat_flow
from toolstream_core.cli.main import main
from toolstream_core.errors import ToolstreamError
from toolstream_core.saved import files
from toolstream_core.saved.flow import chunks_of, read_flow
from toolstream_core.saved.read import load

EVENTS = [b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', b"data: [DONE]\n\n"]


def chunk_table(chunks: list[list[int]]) -> dict[str, Any]:
    """Return metadata with a table of chunks."""
    return {"toolstream": {"version": 1, "chunks": chunks}}


def test_the_responses_of_a_file_are_in_order() -> None:
    """Each response has its request and its record."""
    first, second = load(FLOWS / "glm-5.flow")
    assert first.source == f"{FLOWS / 'glm-5.flow'}#0"
    assert (first.record.host, first.path) == ("openrouter.ai", "/api/v1/chat/completions")
    assert (first.request_key.protocol, first.request_key.model, first.record.model) == (
        "openai-chat",
        "z-ai/glm-5",
        "z-ai/glm-5-20260211",
    )
    assert [fixture.request_key.results for fixture in (first, second)] == [0, 1]
    assert first.request["messages"][0]["role"] == "user"
    assert first.status == 200
    assert len(first.chunks) == first.record.events == len(first.payloads)
    assert first.chunks[1].after == 31
    assert first.body.startswith(b'data: {"choices"')


def test_a_folder_means_all_files_below_it(tmp_path: Path) -> None:
    """The files are sorted, of any form, and those without an LLM response are skipped."""
    (tmp_path / "below").mkdir()
    for name in ("z.flow", "a.flow", "below/b.mitm"):
        shutil.copy(FLOWS / "ollama-single.flow", tmp_path / name)
    (tmp_path / "README.md").write_text("no flow")
    sources = [Path(fixture.source).relative_to(tmp_path).as_posix() for fixture in load(tmp_path)]
    assert sources == [f"{name}#{number}" for name in ("a.flow", "below/b.mitm", "z.flow") for number in (0, 1)]


def test_a_path_without_a_response_is_an_error(tmp_path: Path) -> None:
    """The error says what is wrong with the path."""
    with pytest.raises(ToolstreamError, match=r"no such file or directory: .*missing\.flow"):
        load(tmp_path / "missing.flow")
    with pytest.raises(ToolstreamError, match=rf"{tmp_path} contains no LLM response"):
        load(tmp_path)
    bad = tmp_path / "bad.flow"
    bad.write_text("nonsense")
    with pytest.raises(ToolstreamError, match=r"bad\.flow is not a mitmproxy flow file"):
        load(bad)
    bad.write_bytes(flow_file(tflow.tflow(resp=True)))
    with pytest.raises(ToolstreamError, match=r"bad\.flow contains no LLM response .*store_streamed_bodies"):
        load(bad)


def test_an_unreadable_file_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has the system's message."""

    def refuse(path: str, mode: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(files, "open", refuse, raising=False)
    with pytest.raises(ToolstreamError, match=r"glm-5\.flow cannot be read: Permission denied"):
        load(FLOWS / "glm-5.flow")


@pytest.mark.parametrize("form", ["flow", "flow.gz", "har", "har-bom", "vcr", "bare", "body", "stdin"])
def test_each_form_that_inspect_reads_is_a_fixture(form: str, tmp_path: Path) -> None:
    """Each form has the same calls; standard input belongs to the client and is rejected."""
    if form == "stdin":
        with pytest.raises(ToolstreamError, match="standard input cannot be served"):
            load(Path("-"))
        return
    path = _saved_as(form, tmp_path)
    expected = [call.arguments for call in load(FLOWS / "glm-5.flow")[0].record.calls]
    assert expected
    for named in (path, path.parent):
        assert [call.arguments for call in load(named)[0].record.calls] == expected


def _saved_as(form: str, folder: Path) -> Path:
    """The first response of glm-5.flow, saved in another form, alone in its folder."""
    extracted, kept = folder / "x", folder / "kept"
    kept.mkdir()
    names = {"flow": "kept.flow", "vcr": "kept.yaml", "bare": "kept/turn-1/response.sse"}
    if form in names:
        words = ["extract", str(FLOWS / "glm-5.flow"), "-o", str(extracted), "--format", form, "--name", "kept"]
        assert main(words) == 0
        return extracted / names[form]
    fixture = load(FLOWS / "glm-5.flow")[0]
    if form == "flow.gz":
        (kept / "a.flow.gz").write_bytes(gzip.compress((FLOWS / "glm-5.flow").read_bytes()))
    elif form == "body":
        (kept / "a.sse").write_bytes(fixture.body)
    else:
        # Without version, creator and headers, which mitmproxy's own reader of HAR files demands.
        entry = {
            "request": {
                "method": "POST",
                "url": f"https://{fixture.record.host}{fixture.path}",
                "postData": {"text": fixture.request_body.decode()},
            },
            "response": {"status": 200, "content": {"mimeType": "text/event-stream", "text": fixture.body.decode()}},
        }
        text = json.dumps({"log": {"entries": [entry]}})
        (kept / "a.har").write_text(text, encoding="utf-8-sig" if form == "har-bom" else "utf-8")
    return next(kept.iterdir())


def test_a_har_file_is_read(tmp_path: Path) -> None:
    """A response in a HAR file is one chunk."""
    response = EVENTS[0].decode() + EVENTS[1].decode()
    request = json.dumps({"model": "m", "messages": [], "stream": True})
    entry = {
        "startedDateTime": "2026-01-01T00:00:00Z",
        "time": 1,
        "request": {
            "method": "POST",
            "url": "https://llm.example.com/v1/chat/completions",
            "httpVersion": "HTTP/1.1",
            "headers": [{"name": "content-type", "value": "application/json"}],
            "postData": {"text": request},
        },
        "response": {
            "status": 200,
            "statusText": "OK",
            "httpVersion": "HTTP/1.1",
            "headers": [{"name": "content-type", "value": "text/event-stream"}],
            "content": {"text": response},
        },
    }
    path = tmp_path / "x.har"
    path.write_text(json.dumps({"log": {"entries": [entry]}}))
    [fixture] = load(path)
    assert fixture.body.decode() == response
    assert len(fixture.chunks) == 1


def test_recorded_chunks_are_read() -> None:
    """The chunks have their times."""
    flow = chat_flow(b"".join(EVENTS))
    flow.metadata = chunk_table([[0, len(EVENTS[0])], [25, len(EVENTS[1])]])
    assert [tuple(chunk) for chunk in chunks_of(flow)] == [(0, EVENTS[0]), (25, EVENTS[1])]


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"toolstream": None},
        {"toolstream": {"chunks": "no"}},
        chunk_table([]),
        chunk_table([[0, 3], [1, 4]]),
        chunk_table([[0], [1, 2, 3]]),
        chunk_table([[0, -1], [1, 60]]),
    ],
)
def test_a_chunk_table_of_another_body_is_ignored(metadata: dict[str, Any]) -> None:
    """A body that was edited in mitmproxy is one chunk."""
    flow = chat_flow(b"".join(EVENTS))
    flow.metadata = metadata
    assert [tuple(chunk) for chunk in chunks_of(flow)] == [(0, b"".join(EVENTS))]


def test_a_compressed_body_is_decoded_by_chunk() -> None:
    """The table counts compressed bytes, and each decoded part keeps the time of its chunk."""
    coded = gzip.compress(b"".join(EVENTS))
    flow = chat_flow(coded, coding="gzip")
    flow.metadata = chunk_table([[0, 4], [10, 30], [20, len(coded) - 34]])
    chunks = chunks_of(flow)
    assert b"".join(chunk.data for chunk in chunks) == b"".join(EVENTS)
    assert {chunk.after for chunk in chunks} <= {10, 20}
    fixture = read_flow(flow, "x#0")
    assert fixture
    assert fixture.record.events == 2


@pytest.mark.parametrize(
    "flow",
    [
        pytest.param(chat_flow(None), id="body not saved"),
        pytest.param(chat_flow(b""), id="empty body"),
        pytest.param(chat_flow(b"nonsense", coding="gzip"), id="invalid coding"),
        pytest.param(chat_flow(b"x", coding="rot13"), id="unknown coding"),
        pytest.param(chat_flow(b"<html>", path="/"), id="other traffic"),
        pytest.param(tflow.tflow(), id="no response"),
        pytest.param(tflow.tflow(resp=True), id="another request"),
    ],
)
def test_flows_without_a_response_are_skipped(flow: http.HTTPFlow) -> None:
    """A flow without a readable LLM response is no error."""
    assert read_flow(flow, "x#0") is None


def test_an_http_error_is_a_fixture() -> None:
    """The body of the error may be anything or empty."""
    for body in (b'{"error":{"message":"slow down"}}', b"<html>bad gateway</html>", b""):
        flow = chat_flow(body)
        assert flow.response
        flow.response.status_code = 429
        fixture = read_flow(flow, "x#0")
        assert fixture
        assert (fixture.status, fixture.body, fixture.record.broken) == (429, body, None)
        assert fixture.record.calls == []


def test_a_truncated_response_is_a_fixture() -> None:
    """It has the received bytes and the error."""
    broken = tflow.tflow(resp=True, err=True)
    broken.request, broken.response = chat_flow(b"").request, chat_flow(EVENTS[0]).response
    fixture = read_flow(broken, "x#0")
    assert fixture
    assert (fixture.body, fixture.record.broken) == (EVENTS[0], "error")
    assert (fixture.record.broken, fixture.record.ended) == ("error", False)
    broken.metadata = {"toolstream": {"version": 1, "chunks": [[0, len(EVENTS[0])]], "broken": "reset by upstream"}}
    with_reason = read_flow(broken, "x#0")
    assert with_reason
    assert with_reason.record.broken == "reset by upstream"


def test_a_disconnect_before_the_first_byte_differs_from_an_unsaved_body() -> None:
    """Only an empty chunk table shows that no byte was received."""
    broken = tflow.tflow(resp=True, err=True)
    broken.request, broken.response = chat_flow(b"").request, chat_flow(b"").response
    assert read_flow(broken, "x#0") is None
    broken.metadata = chunk_table([])
    fixture = read_flow(broken, "x#0")
    assert fixture
    assert (fixture.chunks, fixture.record.broken, fixture.record.streamed) == ((), "error", True)


def test_a_disconnect_of_the_client_after_the_end_is_no_error() -> None:
    """Many clients close the connection on `[DONE]`; the fixture is the complete response."""
    flow = chat_flow(b"".join(EVENTS).replace(b'"a"}', b'"a"},"finish_reason":"stop"'))
    for message, broken in (("Client disconnected.", None), ("server closed connection", "server closed connection")):
        flow.error = Error(message)
        fixture = read_flow(flow, "x#0")
        assert fixture
        assert fixture.record.broken == broken


def test_the_request_keeps_its_bytes() -> None:
    """The fixture has the bytes and the parsed request."""
    flow = chat_flow(b"".join(EVENTS))
    flow.request.content = b'{ "model": "m", "messages": [], "stream": true }'
    fixture = read_flow(flow, "x#0")
    assert fixture
    assert fixture.request_body == flow.request.content
    assert fixture.request["model"] == "m"


def test_the_response_decides_the_protocol() -> None:
    """A gateway's path may belong to another protocol."""
    body = (
        b'event: message_start\ndata: {"type":"message_start","message":{"model":"c"}}\n\n'
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    )
    fixture = read_flow(chat_flow(body, path="/gateway"), "x#0")
    assert fixture
    assert (fixture.request_key.protocol, fixture.request_key.model, fixture.record.model) == ("anthropic", "m", "c")
