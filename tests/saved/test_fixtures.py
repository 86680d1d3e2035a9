from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.test import tflow

from tests.conftest import FLOWS
from tests.invariants.healthy import streams
from toolstream_core.saved import bare
from toolstream_core.saved.cassette import cassette, exchanges
from toolstream_core.saved.expectation import dumps, expectation_of
from toolstream_core.saved.fixtures import conversations, stem_of
from toolstream_core.saved.flow import LlmFlow, flow_of, read_flow
from toolstream_core.saved.flowfile import saved_response
from toolstream_core.saved.read import LeftOut, gathered, load

FILES = sorted(FLOWS.glob("*.flow"))
BODY = next(stream for stream in streams() if str(stream) == "openai-chat, fragments of two").body


def flows_in(path: object) -> list[LlmFlow]:
    """Return the LLM flows of a file and check that nothing is left out."""
    found = list(gathered(str(path)))
    assert [item for item in found if isinstance(item, LeftOut)] == []
    return [item for item in found if isinstance(item, LlmFlow)]


def chat(*messages: str, response: str = "x", host: str = "a.example", **more: Any) -> LlmFlow:
    """Return a flow whose request has these messages."""
    flow = tflow.tflow(resp=True)
    messages_ = [{"role": "user", "content": text} for text in messages]
    flow.request = http.Request.make(
        "POST", f"https://{host}/v1/chat/completions", json.dumps({"model": "m", "messages": messages_, **more})
    )
    assert flow.response
    flow.response.headers = http.Headers(content_type="application/json")
    flow.response.content = json.dumps({"choices": [{"message": {"content": response}}]}).encode()
    fixture = read_flow(flow, response)
    assert fixture
    return fixture


def grouped(*fixtures: LlmFlow) -> list[list[str]]:
    """Return the sources of flows by conversation."""
    return [[fixture.source for fixture in group] for group in conversations(fixtures)]


def assert_same(flow: http.HTTPFlow, other: http.HTTPFlow) -> None:
    """Check that request, response, times and record of two flows are equal, but for the content coding."""
    assert flow.response
    assert other.response
    assert other.request.pretty_url == flow.request.pretty_url
    assert other.request.content == flow.request.content
    assert other.request.headers.fields == flow.request.headers.fields
    assert other.response.content == flow.response.content
    assert (other.response.status_code, other.response.reason) == (flow.response.status_code, flow.response.reason)
    headers = [pair for pair in flow.response.headers.fields if pair[0].lower() != b"content-encoding"]
    assert list(other.response.headers.fields) == headers
    fixtures = [read_flow(saved, "x") for saved in (flow, other)]
    assert len({dumps(expectation_of([fixture])) for fixture in fixtures if fixture}) == 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_conversions_are_lossless(path: Path, tmp_path: Path) -> None:
    """A flow that is converted to bare files or a cassette and back is equal; bare files keep the chunks, too."""
    originals = flows_in(path)
    saved = [saved_response(original.flow, f"x#{at}").decoded() for at, original in enumerate(originals)]
    for exchange, flow, from_cassette in zip(saved, originals, exchanges(cassette(saved), "x"), strict=True):
        assert_same(flow.flow, flow_of(from_cassette))
        folder = tmp_path / str(exchange.source)
        folder.mkdir()
        for name, data in bare.files_of(exchange).items():
            (folder / name).write_bytes(data)
        [from_files] = flows_in(folder)
        assert_same(flow.flow, from_files.flow)
        assert from_files.chunks == flow.chunks
        assert from_files.flow.request.timestamp_start == flow.flow.request.timestamp_start


def test_errors_are_kept(tmp_path: Path) -> None:
    """The HTTP error and the disconnect of a flow are kept."""
    original = chat("a")
    assert original.flow.response
    original.flow.response.status_code = 503
    original.flow.error = tflow.tflow(err=True).error
    converted = flow_of(saved_response(original.flow, "x").decoded())
    fixture = read_flow(converted, "x")
    assert fixture
    assert (fixture.status, fixture.record.broken) == (503, "error")
    for name, data in bare.files_of(saved_response(original.flow, "x").decoded()).items():
        (tmp_path / name).write_bytes(data)
    assert [found.record.broken for found in flows_in(tmp_path)] == ["error"]


@pytest.mark.parametrize("stream", [stream for stream in streams() if "two" in str(stream)], ids=str)
def test_a_bare_body_gets_a_request(stream: Any, tmp_path: Path) -> None:
    """The minimal request is added to replay the body in its protocol."""
    path = tmp_path / ("x.eventstream" if stream.protocol == "bedrock" else "x.sse")
    path.write_bytes(stream.body)
    [fixture] = flows_in(path)
    assert fixture.request_key.protocol == fixture.record.protocol
    assert fixture.record.streamed
    assert fixture.body == stream.body
    assert fixture.record.calls


def test_a_har_file_becomes_flows(tmp_path: Path) -> None:
    """A flow has the entry's request, headers and time."""
    entry = {
        "startedDateTime": "2026-11-22T06:15:00Z",
        "request": {
            "method": "POST",
            "url": "https://llm.example.com:8443/v1/chat/completions?a=b",
            "headers": [{"name": ":authority", "value": "x"}, {"name": "x-a", "value": "b"}],
            "postData": {"text": '{"model":"m","messages":[],"stream":true}'},
        },
        "response": {
            "status": 200,
            "statusText": "OK",
            "headers": [{"name": "content-encoding", "value": "br"}],
            "content": {"mimeType": "text/event-stream", "text": BODY.decode()},
        },
    }
    other = {"request": {"method": "GET", "url": "https://x/"}, "response": {"status": 200, "content": {"text": "x"}}}
    path = tmp_path / "x.har"
    path.write_text(json.dumps({"log": {"entries": [other, entry]}}))
    left, fixture = gathered(str(path))
    assert isinstance(left, LeftOut)
    assert (left.source, left.why) == (f"{path}#0", "is not an LLM response")
    assert isinstance(fixture, LlmFlow)
    assert (fixture.source, fixture.record.host, fixture.flow.request.port) == (f"{path}#1", "llm.example.com", 8443)
    assert fixture.flow.request.path == "/v1/chat/completions?a=b"
    assert fixture.flow.request.timestamp_start == 1795328100
    assert fixture.flow.request.headers.fields == ((b"x-a", b"b"),)
    assert fixture.body == BODY


def test_a_har_file_with_an_unknown_url_becomes_flows(tmp_path: Path) -> None:
    """The body of the request may be missing, as in `inspect`."""
    path = tmp_path / "x.har"
    content = {"text": BODY.decode(), "mimeType": "text/event-stream"}
    entry = {
        "request": {"method": "POST", "url": "https://gateway.example/ask"},
        "response": {"status": 200, "content": content},
    }
    path.write_text(json.dumps({"log": {"entries": [entry]}}))
    (fixture,) = flows_in(path)
    assert (fixture.record.host, fixture.path, fixture.record.protocol) == ("gateway.example", "/ask", "openai-chat")


def test_skipped_files_have_a_reason(tmp_path: Path) -> None:
    """An unreadable file differs from a file without an LLM response."""
    (tmp_path / "a.flow").write_text("nonsense")
    (tmp_path / "b.txt").write_text("hello")
    (tmp_path / "c.yaml").write_text("interactions: [")
    left = [item for item in gathered(str(tmp_path)) if isinstance(item, LeftOut)]
    assert [(Path(item.source).name, item.unreadable) for item in left] == [
        ("a.flow", True),
        ("b.txt", False),
        ("c.yaml", True),
    ]
    [missing] = gathered(str(tmp_path / "none.flow"))
    assert isinstance(missing, LeftOut)
    assert (missing.unreadable, "No such file" in missing.why) == (True, True)


def test_turns_are_one_conversation() -> None:
    """Each request starts with the previous one; parallel conversations stay apart."""
    turns = [
        chat("a", response="1"),
        chat("b", response="other"),
        chat("a", "b", response="2"),
        chat("a", "b", "c", response="3"),
    ]
    assert grouped(*turns) == [["1", "2", "3"], ["other"]]
    assert grouped(chat("a", response="1"), chat("a", "b", response="2", host="b.example")) == [["1"], ["2"]]


def test_a_retry_belongs_to_its_conversation() -> None:
    """A consecutive equal request is a retry; a later one starts a new run."""
    assert grouped(chat("a", response="1"), chat("a", response="2"), chat("a", "b", response="3")) == [["1", "2", "3"]]
    run = [chat("a", response="1"), chat("a", "b", response="2")]
    rerun = [chat("a", response="3"), chat("a", "b", response="4")]
    assert grouped(*run, *rerun) == [["1", "2"], ["3", "4"]]


def test_cache_marks_do_not_split_a_conversation() -> None:
    """Cache marks and a text as a list of one part are ignored."""
    first = chat("a", response="1")
    marked = [{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]}]
    second = chat(response="2", messages=[*marked, {"role": "user", "content": "b"}])
    assert grouped(first, second) == [["1", "2"]]


def test_a_response_is_continued_by_its_id() -> None:
    """With server-side state, the request has the id of the response instead of the messages."""
    first, second = (flows_in(FLOWS / "openai-responses-single.flow")[0] for _ in range(2))
    response = first.payloads[0]["response"]["id"]
    second.flow.request.content = json.dumps({"model": "m", "previous_response_id": response, "input": []}).encode()
    fixture = read_flow(second.flow, "2")
    assert fixture
    assert len(conversations([first, fixture])) == 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_packaged_flow_is_one_conversation(path: Path) -> None:
    """A flow that was also recorded without a stream has one conversation for each form."""
    assert len(conversations(flows_in(path))) <= len({fixture.request_key.form for fixture in load(path)})


@pytest.mark.parametrize(
    ("model", "started", "stem"),
    [
        ("gpt-4.1-mini", 1795328100.7, "20261122-061500-openai-chat-gpt-4.1-mini-0001"),
        ("z-ai/glm-5:free", None, "openai-chat-z-ai-glm-5-free-0001"),
        ("../../etc/passwd\n", 0.0, "openai-chat-etc-passwd-0001"),
        (None, 1e300, "unknown-time-openai-chat-0001"),
        ("x" * 99, None, f"openai-chat-{'x' * 40}-0001"),
        ("模型", None, "openai-chat-0001"),
    ],
)
def test_a_file_name_has_time_protocol_and_model(model: str | None, started: float | None, stem: str) -> None:
    """A model name cannot lead out of the folder."""
    assert stem_of("openai-chat", model, started, 1) == stem
