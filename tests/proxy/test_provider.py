from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.test import tflow

from tests.conftest import FLOWS
from tests.synthetic.test_responses import request_of
from toolstream_core.errors import ToolstreamError
from toolstream_core.protocols.errors import ErrorKind
from toolstream_core.protocols.registry import PROTOCOLS, named
from toolstream_core.protocols.requests.match_key import RequestKey
from toolstream_core.proxy.flow_facts import REPLAY
from toolstream_core.proxy.provider import CallProvider, Provider
from toolstream_core.saved.flow import LlmFlow, chunks_of, read_flow
from toolstream_core.saved.matching import form_of
from toolstream_core.saved.read import load
from toolstream_core.synthetic.responses import DONE, SyntheticProvider, parse_calls
from toolstream_core.wire.frame import Form

GLM = str(FLOWS / "glm-5.flow")
KEY = RequestKey(protocol="openai-chat", model="gpt-4.1-mini", form=Form.EVENTS, tools=frozenset(), results=0, words="")


def flow_for(body: Any, path: str = "/v1/chat/completions", method: str = "POST") -> http.HTTPFlow:
    """Return a flow of a request without a response."""
    flow = tflow.tflow()
    flow.request = http.Request.make(
        method, f"https://llm.example.com{path}", json.dumps(body) if body is not None else b""
    )
    return flow


def response_of(provider: Provider, flow: http.HTTPFlow) -> http.Response:
    """Return the response that the provider sets."""
    provider.respond(flow)
    assert flow.response
    return flow.response


def test_a_saved_event_stream_is_sent_in_eventstream_messages_for_a_bedrock_path() -> None:
    """Bedrock streams Anthropic's events in messages, which are read back and sent as SSE again."""
    provider = Provider.load([str(FLOWS / "anthropic-single.flow")])
    fixture = load(FLOWS / "anthropic-single.flow")[0]
    flow = flow_for(fixture.request, "/model/anthropic.claude/invoke-with-response-stream")
    response = response_of(provider, flow)
    assert response.headers["content-type"] == "application/vnd.amazon.eventstream"
    replayed = read_flow(flow, "x#0")
    assert replayed is not None
    assert form_of(replayed) is Form.MESSAGES
    assert list(replayed.payloads) == [payload for payload in fixture.payloads if isinstance(payload, dict)]
    assert len(replayed.payloads) == fixture.record.events
    assert [call.arguments for call in replayed.record.calls] == [call.arguments for call in fixture.record.calls]
    as_events = response_of(Provider([replayed]), flow_for(fixture.request, "/v1/messages"))
    assert (as_events.content or b"").startswith(b"event: message_start\r\ndata: {")


@pytest.fixture(scope="module")
def provider_of_all() -> Provider:
    """Return a provider with all saved flows."""
    return Provider.load([str(FLOWS)])


@pytest.mark.parametrize("path", sorted(FLOWS.glob("*.flow")), ids=lambda path: path.stem)
def test_a_recorded_request_gets_its_own_response(provider_of_all: Provider, path: Path) -> None:
    """Among all saved flows, a recorded request gets its own response with its bytes, status and headers."""
    for fixture in load(path):
        flow = flow_for(fixture.request, fixture.path)
        response = response_of(provider_of_all, flow)
        assert response.content == fixture.body
        assert response.status_code == fixture.status
        assert response.headers["content-length"] == str(len(fixture.body))
        assert "transfer-encoding" not in response.headers
        kept = [pair for pair in fixture.headers if pair[0] not in {b"transfer-encoding", b"content-length"}]
        assert [pair for pair in response.headers.fields if pair[0] != b"content-length"] == kept
        assert chunks_of(flow) == list(fixture.chunks)
        assert (flow.comment, flow.metadata[REPLAY]["answer"]) == (f"answered from {fixture.source}: exact", "exact")
        replayed = read_flow(flow, "x#0")
        assert replayed
        assert replayed.payloads == fixture.payloads


def call_and_result_request(protocol: str) -> tuple[LlmFlow, Any]:
    """Return a saved response with one call, and the request that has the call's result."""
    path = FLOWS / f"{protocol}-single.flow"
    if path.exists():
        first, second = load(path)
        return first, second.request
    request_path, body = request_of(named(protocol))
    flow = flow_for(body, request_path)
    CallProvider(SyntheticProvider(parse_calls(["calls:get_weather {}"]))).respond(flow)
    generated = read_flow(flow, "generated#0")
    assert generated is not None
    [call] = generated.record.calls
    output = {"type": "function_call_output", "call_id": call.id, "output": "mild"}
    part = {"functionResponse": {"id": call.id, "name": call.name, "response": {"output": "mild"}}}
    if "contents" in body:
        return generated, {**body, "contents": [{"role": "user", "parts": [part]}]}
    return generated, {**body, "input": [output]}


@pytest.mark.parametrize("protocol", [protocol.name for protocol in PROTOCOLS])
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "unstreamed"])
def test_a_call_with_a_result_is_followed_by_a_final_text(protocol: str, streamed: bool) -> None:
    """If the saved conversation ends with the call, its result gets a final text in the form of the request."""
    fixture, request = call_and_result_request(protocol)
    reader = named(protocol).api
    path = fixture.path if streamed else reader.unstreamed_path(fixture.path)
    flow = flow_for(request if streamed else reader.unstreamed(request), path)
    response = response_of(Provider([fixture]), flow)
    assert response.status_code == 200
    assert (flow.metadata[REPLAY]["answer"], flow.metadata[REPLAY]["source"]) == ("finished", fixture.source)
    replayed = read_flow(flow, "x#0")
    assert replayed is not None
    assert (replayed.record.streamed, replayed.record.ended, replayed.record.calls) == (streamed, True, [])
    assert [finding.name for finding in replayed.record.findings] == []
    assert DONE.split()[0].encode() in (response.content or b"")


@pytest.mark.parametrize("protocol", [protocol.name for protocol in PROTOCOLS])
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "unstreamed"])
def test_repeated_requests_get_an_error_in_the_form_of_the_api(protocol: str, streamed: bool) -> None:
    """The error names the flow, the limit and the option; its status is 404, which no client retries."""
    fixture, _ = call_and_result_request(protocol)
    reader = named(protocol).api
    path = fixture.path if streamed else reader.unstreamed_path(fixture.path)
    request = fixture.request if streamed else reader.unstreamed(fixture.request)
    provider = Provider([fixture], repeats=2)
    statuses = [response_of(provider, flow_for(request, path)).status_code for _ in range(3)]
    assert statuses == [200, 200, 404]
    flow = flow_for(request, path)
    body = response_of(provider, flow).content or b""
    why = f"{fixture.source} reached the limit of 2 equal requests (toolstream_provider_repeats)"
    assert json.loads(body) == named(protocol).error_body(
        ErrorKind.NOT_FOUND, 404, f"toolstream has no saved response for this {protocol} request. Near: {why}"
    )
    assert flow.comment == f"refused: {why}"


def test_an_unstreamed_request_gets_json() -> None:
    """A saved stream is assembled for a request without `stream`."""
    fixture = load(Path(GLM))[0]
    response = response_of(Provider.load([GLM]), flow_for({**fixture.request, "stream": False}))
    assert response.headers["content-type"] == "application/json"
    [call] = json.loads(response.content or b"")["choices"][0]["message"]["tool_calls"]
    assert (call["id"], call["function"]["name"]) == ("call_95df1cc8dabc4b959bbbc431", "web_search")


@pytest.mark.parametrize(
    ("file", "query", "kind"),
    [("gemini-single", "", "application/json"), ("gemini-json-array", "?alt=sse", "text/event-stream")],
)
def test_gemini_gets_the_stream_it_asks_for(file: str, query: str, kind: str) -> None:
    """A request gets SSE with `alt=sse` and a JSON array without it, whichever form was saved."""
    path = FLOWS / f"{file}.flow"
    fixture = load(path)[0]
    flow = flow_for(fixture.request, fixture.path.partition("?")[0] + query)
    response = response_of(Provider.load([str(path)]), flow)
    assert response.headers["content-type"] == kind
    replayed = read_flow(flow, "x#0")
    assert replayed
    assert replayed.payloads == fixture.payloads
    assert [chunk.after for chunk in replayed.chunks][: len(fixture.payloads)] == [
        chunk.after for chunk in fixture.chunks[: len(fixture.payloads)]
    ]
    if not query:
        assert json.loads(response.content or b"") == list(fixture.payloads)


@pytest.mark.parametrize(
    "flow",
    [
        flow_for({"hello": "world"}, "/"),
        flow_for({"model": "m", "input": "embed me"}, "/v1/embeddings"),
        flow_for(None, "/v1/chat/completions", "GET"),
        flow_for(None, "/", "GET"),
        flow_for(None),
    ],
)
def test_other_requests_are_not_answered(flow: http.HTTPFlow) -> None:
    """A request that is not for an LLM goes to its server."""
    Provider.load([GLM]).respond(flow)
    assert flow.response is None
    assert flow.comment == ""


def test_a_compressed_request_is_read() -> None:
    """Codex compresses its requests."""
    flow = flow_for(load(Path(GLM))[0].request)
    flow.request.encode("zstd")
    assert response_of(Provider.load([GLM]), flow).status_code == 200


def test_a_saved_http_error_is_replayed() -> None:
    """A streaming request gets the saved error unchanged, too."""
    failed = replace(load(FLOWS / "openrouter-no-deltas.flow")[1], status=429)
    flow = flow_for({"model": "m", "messages": [], "stream": True})
    response = response_of(Provider([failed]), flow)
    assert (response.status_code, response.content) == (429, failed.body)


def test_a_strict_provider_rejects_other_requests() -> None:
    """The error names the nearest flow and the first difference, without secrets."""
    fixture = load(Path(GLM))[0]
    key = "sk-" + "a1b2" * 8
    message = {"role": "user", "content": f"use {key}"}
    flow = flow_for({**fixture.request, "messages": [message]})
    response = response_of(Provider([fixture], strict=True), flow)
    assert response.status_code == 404
    error = json.loads(response.content or b"")["error"]["message"]
    assert f"for this openai-chat request. Near: {fixture.source} differs at messages[0].content" in error
    assert key not in f"{error}{flow.comment}{flow.metadata}"
    assert flow.metadata[REPLAY]["answer"] == "refused"
    assert response_of(Provider([fixture], strict=True), flow_for(fixture.request)).content == fixture.body


def test_a_request_without_a_match_gets_the_list_of_saved_protocols() -> None:
    """The status is 404, and the error names the requested protocol and the saved ones."""
    flow = flow_for({"model": "m", "max_tokens": 1, "messages": []}, "/v1/messages")
    response = response_of(Provider.load([GLM]), flow)
    assert response.status_code == 404
    message = json.loads(response.content or b"")["error"]["message"]
    assert "no saved anthropic response" in message
    assert "openai-chat (z-ai/glm-5)" in message


def test_models_are_listed() -> None:
    """The saved models are listed, as clients request the list first."""
    response = response_of(Provider.load([GLM]), flow_for(None, "/v1/models", "GET"))
    listed = [model["id"] for model in json.loads(response.content or b"")["data"]]
    assert listed == ["z-ai/glm-5", "z-ai/glm-5-20260211"]


def test_paths_are_read_in_their_order(tmp_path: Path) -> None:
    """A path is a file or a folder, the first match wins, and a missing path is an error."""
    copy = tmp_path / "copy.flow"
    shutil.copy(GLM, copy)
    for paths in ([GLM, str(tmp_path)], [str(tmp_path), GLM]):
        best = Provider.load(paths).matcher.best(KEY)
        assert best
        assert best.source == f"{copy if paths[1] == GLM else GLM}#0"
    with pytest.raises(ToolstreamError, match=r"no such file or directory: .*nothing\.flow"):
        Provider.load([GLM, str(tmp_path / "nothing.flow")])


def test_a_path_may_begin_with_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """No shell expands `~` in mitmproxy's options."""
    monkeypatch.setenv("HOME", str(FLOWS))
    assert Provider.load(["~/glm-5.flow"]).matcher.best(KEY)
