from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.test import tflow

from tests.invariants.healthy import streams
from toolstream_core.saved import bare
from toolstream_core.saved.cassette import cassette, exchanges
from toolstream_core.saved.expectation import dumps, expectation_of
from toolstream_core.saved.fixtures import conversations, stem_of
from toolstream_core.saved.flow import LlmFlow, exchange_of, flow_of, read_flow
from toolstream_core.saved.read import LeftOut, gathered, load

FLOWS = Path(__file__).resolve().parents[2] / "flows"
FILES = sorted(FLOWS.glob("*.flow"))
BODY = next(one for one in streams() if str(one) == "openai-chat, fragments of two").body


def found_in(path: object) -> list[LlmFlow]:
    """The flows in a file, of which nothing is left out."""
    found = list(gathered(str(path)))
    assert [one for one in found if isinstance(one, LeftOut)] == []
    return [one for one in found if isinstance(one, LlmFlow)]


def chat(*messages: str, response: str = "x", host: str = "a.example", **more: Any) -> LlmFlow:
    """A flow that asks with these messages."""
    flow = tflow.tflow(resp=True)
    said = [{"role": "user", "content": text} for text in messages]
    flow.request = http.Request.make(
        "POST", f"https://{host}/v1/chat/completions", json.dumps({"model": "m", "messages": said, **more})
    )
    assert flow.response
    flow.response.headers = http.Headers(content_type="application/json")
    flow.response.content = json.dumps({"choices": [{"message": {"content": response}}]}).encode()
    fixture = read_flow(flow, response)
    assert fixture
    return fixture


def grouped(*found: LlmFlow) -> list[list[str]]:
    """The sources by conversation."""
    return [[one.source for one in group] for group in conversations(found)]


def same(flow: http.HTTPFlow, other: http.HTTPFlow) -> None:
    """Request, body, status, headers but for the coding, times, and all that is read of it."""
    assert flow.response
    assert other.response
    assert other.request.pretty_url == flow.request.pretty_url
    assert other.request.content == flow.request.content
    assert other.request.headers.fields == flow.request.headers.fields
    assert other.response.content == flow.response.content
    assert (other.response.status_code, other.response.reason) == (flow.response.status_code, flow.response.reason)
    kept = [pair for pair in flow.response.headers.fields if pair[0].lower() != b"content-encoding"]
    assert list(other.response.headers.fields) == kept
    read = [read_flow(one, "x") for one in (flow, other)]
    assert len({dumps(expectation_of([one])) for one in read if one}) == 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_there_and_back(path: Path, tmp_path: Path) -> None:
    """Flow to bare and cassette, and from these to flows: the same; the bare layout keeps the cuts too."""
    originals = found_in(path)
    ones = [exchange_of(one.flow, f"x#{at}") for at, one in enumerate(originals)]
    for one, flow, again in zip(ones, originals, exchanges(cassette(ones), "x"), strict=True):
        same(flow.flow, flow_of(again))
        folder = tmp_path / str(one.source)
        folder.mkdir()
        for name, data in bare.files_of(one).items():
            (folder / name).write_bytes(data)
        [back] = found_in(folder)
        same(flow.flow, back.flow)
        assert back.chunks == flow.chunks
        assert back.flow.request.timestamp_start == flow.flow.request.timestamp_start


def test_a_break_and_an_error_come_through(tmp_path: Path) -> None:
    """As breaks and errors."""
    one = chat("a")
    assert one.flow.response
    one.flow.response.status_code = 503
    one.flow.error = tflow.tflow(err=True).error
    again = flow_of(exchange_of(one.flow, "x"))
    fixture = read_flow(again, "x")
    assert fixture
    assert (fixture.status, fixture.record.broken) == (503, "error")
    for name, data in bare.files_of(exchange_of(one.flow, "x")).items():
        (tmp_path / name).write_bytes(data)
    assert [found.record.broken for found in found_in(tmp_path)] == ["error"]


@pytest.mark.parametrize("stream", [one for one in streams() if "two" in str(one)], ids=str)
def test_a_bare_body_gets_a_request(stream: Any, tmp_path: Path) -> None:
    """The shortest that would bring it, so that it can be replayed in its protocol."""
    path = tmp_path / ("x.eventstream" if stream.dialect == "bedrock" else "x.sse")
    path.write_bytes(stream.body)
    [one] = found_in(path)
    assert one.request_key.dialect == one.record.dialect
    assert one.record.streamed
    assert one.body == stream.body
    assert one.record.calls


def test_a_har_file_gives_flows(tmp_path: Path) -> None:
    """With request, headers and time."""
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
    left, one = gathered(str(path))
    assert isinstance(left, LeftOut)
    assert (left.source, left.why) == (f"{path}#0", "is not an LLM response")
    assert isinstance(one, LlmFlow)
    assert (one.source, one.record.host, one.flow.request.port) == (f"{path}#1", "llm.example.com", 8443)
    assert one.flow.request.path == "/v1/chat/completions?a=b"
    assert one.flow.request.timestamp_start == 1795328100
    assert one.flow.request.headers.fields == ((b"x-a", b"b"),)
    assert one.body == BODY


def test_a_har_file_whose_address_is_unknown_gives_flows(tmp_path: Path) -> None:
    """Also without the body of its request, as `inspect` reads it."""
    path = tmp_path / "x.har"
    content = {"text": BODY.decode(), "mimeType": "text/event-stream"}
    entry = {
        "request": {"method": "POST", "url": "https://gateway.example/ask"},
        "response": {"status": 200, "content": content},
    }
    path.write_text(json.dumps({"log": {"entries": [entry]}}))
    (one,) = found_in(path)
    assert (one.record.host, one.path, one.record.dialect) == ("gateway.example", "/ask", "openai-chat")


def test_what_is_left_out_says_why(tmp_path: Path) -> None:
    """And what could not be read is told from what is none of ours."""
    (tmp_path / "a.flow").write_text("nonsense")
    (tmp_path / "b.txt").write_text("hello")
    (tmp_path / "c.yaml").write_text("interactions: [")
    left = [one for one in gathered(str(tmp_path)) if isinstance(one, LeftOut)]
    assert [(Path(one.source).name, one.unreadable) for one in left] == [
        ("a.flow", True),
        ("b.txt", False),
        ("c.yaml", True),
    ]
    [gone] = gathered(str(tmp_path / "none.flow"))
    assert isinstance(gone, LeftOut)
    assert (gone.unreadable, "No such file" in gone.why) == (True, True)


def test_turns_are_one_conversation() -> None:
    """Each request begins as the one before; others beside it do not mix in."""
    turns = [
        chat("a", response="1"),
        chat("b", response="other"),
        chat("a", "b", response="2"),
        chat("a", "b", "c", response="3"),
    ]
    assert grouped(*turns) == [["1", "2", "3"], ["other"]]
    assert grouped(chat("a", response="1"), chat("a", "b", response="2", host="b.example")) == [["1"], ["2"]]


def test_a_retry_belongs_to_what_it_repeats() -> None:
    """The same request twice in a row; from the beginning it is another run."""
    assert grouped(chat("a", response="1"), chat("a", response="2"), chat("a", "b", response="3")) == [["1", "2", "3"]]
    run = [chat("a", response="1"), chat("a", "b", response="2")]
    again = [chat("a", response="3"), chat("a", "b", response="4")]
    assert grouped(*run, *again) == [["1", "2"], ["3", "4"]]


def test_what_clients_move_does_not_part_a_conversation() -> None:
    """Marks of a cache, a text as a list of one."""
    first = chat("a", response="1")
    marked = [{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]}]
    second = chat(response="2", messages=[*marked, {"role": "user", "content": "b"}])
    assert grouped(first, second) == [["1", "2"]]


def test_a_response_is_continued_by_its_id() -> None:
    """The server keeps the messages."""
    first, second = (found_in(FLOWS / "openai-responses-single.flow")[0] for _ in range(2))
    response = first.payloads[0]["response"]["id"]
    second.flow.request.content = json.dumps({"model": "m", "previous_response_id": response, "input": []}).encode()
    fixture = read_flow(second.flow, "2")
    assert fixture
    assert len(conversations([first, fixture])) == 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_saved_conversation_is_one(path: Path) -> None:
    """Also in the form of its twin without a stream."""
    assert len(conversations(found_in(path))) <= len({one.request_key.form for one in load(path)})


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
def test_a_name_says_time_protocol_and_model(model: str | None, started: float | None, stem: str) -> None:
    """And nothing of a foreign name leads anywhere."""
    assert stem_of("openai-chat", model, started, 1) == stem
