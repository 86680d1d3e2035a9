"""The addon inside a mitmproxy master: options, hooks, and which flows are watched."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest
from mitmproxy import exceptions
from mitmproxy.addons.next_layer import NextLayer
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.test import taddons

from tests.conftest import FLOWS
from tests.proxy.flows import CHUNK, DONE, SECRET, llm_flow
from tests.proxy.sinks import RecordSink
from toolstream_core.proxy.addon import ToolstreamAddon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mitmproxy import http


@pytest.fixture
def addon() -> Iterator[tuple[ToolstreamAddon, taddons.context]]:
    """Yield the loaded addon; a test that reads its log calls `running` after its standard output is captured."""
    toolstream = ToolstreamAddon()
    with taddons.context(Proxyserver(), toolstream) as context:
        yield toolstream, context
        toolstream.done()


def stream_response(addon: ToolstreamAddon, flow: http.HTTPFlow, *chunks: bytes) -> None:
    """Pass a response through the addon."""
    addon.running()
    addon.responseheaders(flow)
    assert flow.response is not None
    stream = flow.response.stream
    assert callable(stream)
    for chunk in chunks:
        assert stream(chunk) is chunk
    stream(b"")
    addon.response(flow)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("toolstream_log", "loud", "off, calls, chunks"),
        ("toolstream_filter", "~nonsense (", "~d api.openai.com"),
        ("toolstream_jsonl", "/no/such/folder/f", "an existing folder"),
        ("toolstream_provider", ["/no/such.flow"], "no/such.flow"),
        ("toolstream_provider_repeats", -1, "-1 is negative. Expected a number, or 0 for no limit"),
    ],
)
def test_an_invalid_option_is_rejected(
    addon: tuple[ToolstreamAddon, taddons.context], option: str, value: object, expected: str
) -> None:
    """The error names the expected values."""
    with pytest.raises(exceptions.OptionsError, match=expected):
        addon[1].configure(addon[0], **{option: value})


def test_a_stream_is_logged(addon: tuple[ToolstreamAddon, taddons.context], capsys: pytest.CaptureFixture[str]) -> None:
    """The log names the flow's id, its chunks and its calls, and hides the request's secrets."""
    flow = llm_flow()
    stream_response(addon[0], flow, CHUNK.replace(b'"{}"', b'"{\\"k\\":\\"' + SECRET.encode() + b'\\"}"'), DONE)
    addon[0].done()
    lines = capsys.readouterr().out.splitlines()
    assert [line.endswith(f"  flow {flow.id}") for line in lines] == [True] + [False] * (len(lines) - 1)
    assert all(line.startswith("#1 ") for line in lines)
    assert any("call 0 ls" in line for line in lines)
    assert SECRET not in "".join(lines)


def test_log_levels(addon: tuple[ToolstreamAddon, taddons.context], capsys: pytest.CaptureFixture[str]) -> None:
    """`calls` logs only the end of a response; `off` logs nothing and the response is streamed unread."""
    addon[1].configure(addon[0], toolstream_log="calls")
    stream_response(addon[0], llm_flow(), CHUNK, DONE)
    addon[0].done()
    assert "event" not in capsys.readouterr().out.splitlines()[0]
    addon[1].configure(addon[0], toolstream_log="off")
    flow = llm_flow()
    addon[0].responseheaders(flow)
    assert flow.response is not None
    assert flow.response.stream is True
    addon[0].response(flow)
    assert capsys.readouterr().out == ""


def test_sinks_receive_each_response_without_a_log() -> None:
    """Sinks work without a log, and a gate that was requested at the start stays when faults come and go."""
    sink, flow = RecordSink(), llm_flow()
    addon = ToolstreamAddon(lambda watch: [sink] if watch.flow is flow else [], gated=True)
    with taddons.context(Proxyserver(), NextLayer(), addon) as context:
        context.configure(addon, toolstream_log="off")
        addon.running()
        stream_response(addon, flow, CHUNK, DONE)
        assert [call.name for record in sink.records for call in record.calls] == ["ls"]
        first = context.master.addons.get("toolstream-gate")
        context.configure(addon, toolstream_fault=["cut"])
        context.configure(addon, toolstream_fault=[])
        assert first is not None
        assert context.master.addons.get("toolstream-gate") is first
        addon.done()


def test_filter(addon: tuple[ToolstreamAddon, taddons.context]) -> None:
    """A response that does not match the filter is streamed unread."""
    addon[1].configure(addon[0], toolstream_filter="~d elsewhere.example")
    flow = llm_flow()
    addon[0].responseheaders(flow)
    assert flow.response is not None
    assert flow.response.stream is True


@pytest.mark.parametrize(
    ("authorization", "coding"),
    [("Bearer key", "identity"), ("AWS4-HMAC-SHA256 Credential=a, SignedHeaders=accept-encoding, Signature=b", "gzip")],
)
def test_a_signed_request_is_not_changed(
    addon: tuple[ToolstreamAddon, taddons.context], authorization: str, coding: str
) -> None:
    """Only a request without a signature over its headers asks for a response that can be rewritten in flight."""
    toolstream, context = addon
    context.configure(toolstream, toolstream_repair=["safe"])
    flow = llm_flow()
    flow.request.headers["authorization"] = authorization
    flow.request.headers["accept-encoding"] = "gzip"
    toolstream.request(flow)
    assert flow.request.headers["accept-encoding"] == coding


def test_other_traffic_is_not_changed(addon: tuple[ToolstreamAddon, taddons.context]) -> None:
    """A response that is not from an LLM is neither streamed nor watched."""
    flow = llm_flow("text/html")
    flow.request.path = "/index.html"
    flow.request.content = b""
    addon[0].responseheaders(flow)
    assert flow.response is not None
    assert flow.response.stream is False
    addon[0].response(flow)


def test_an_unstreamed_response_is_logged(
    addon: tuple[ToolstreamAddon, taddons.context], capsys: pytest.CaptureFixture[str]
) -> None:
    """Mitmproxy keeps the body of an unstreamed response, and its calls are logged."""
    call = {"id": "c1", "function": {"name": "ls", "arguments": "{}"}}
    body = {"object": "chat.completion", "choices": [{"message": {"tool_calls": [call]}, "finish_reason": "stop"}]}
    addon[0].running()
    flow = llm_flow("application/json", json.dumps(body).encode(), stream=False)
    addon[0].responseheaders(flow)
    assert flow.response is not None
    assert flow.response.stream is False
    addon[0].response(flow)
    addon[0].done()
    assert "call 0 ls" in capsys.readouterr().out


def test_a_truncated_response_is_logged(
    addon: tuple[ToolstreamAddon, taddons.context], capsys: pytest.CaptureFixture[str]
) -> None:
    """A response without its last chunk is logged as truncated."""
    addon[0].running()
    flow = llm_flow()
    addon[0].responseheaders(flow)
    assert flow.response is not None
    assert callable(flow.response.stream)
    flow.response.stream(CHUNK)
    addon[0].error(flow)
    addon[0].done()
    assert "truncated-stream" in capsys.readouterr().out


def test_the_stream_function_of_another_addon_is_used(addon: tuple[ToolstreamAddon, taddons.context]) -> None:
    """The client receives the chunks that the other addon returns."""
    flow = llm_flow()
    assert flow.response is not None
    flow.response.stream = lambda chunk: chunk.upper()
    addon[0].responseheaders(flow)
    assert callable(flow.response.stream)
    assert flow.response.stream(b"data: x\n\n") == b"DATA: X\n\n"


def test_jsonl(addon: tuple[ToolstreamAddon, taddons.context], tmp_path: Path) -> None:
    """The file has one JSON object for each event and for the end."""
    path = tmp_path / "lines.jsonl"
    addon[1].configure(addon[0], toolstream_jsonl=str(path))
    flow = llm_flow()
    stream_response(addon[0], flow, CHUNK, DONE)
    addon[0].done()
    objects = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    assert [line["type"] for line in objects if line["type"] != "finding"] == ["event", "event", "end"]
    assert {line["flow"] for line in objects} == {flow.id}


def test_provider(addon: tuple[ToolstreamAddon, taddons.context]) -> None:
    """With a provider, saved flows give the responses, and mitmproxy connects only on demand."""
    addon[1].configure(addon[0], toolstream_provider=[str(FLOWS / "openai-chat-single.flow")])
    assert addon[1].options.connection_strategy == "lazy"
    flow = llm_flow()
    flow.response = None
    addon[0].request(flow)
    assert getattr(flow.response, "status_code", None) == 200


def test_an_internal_error_is_logged_once(
    addon: tuple[ToolstreamAddon, taddons.context], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the flow and the place, but not the exception's message, which may contain a secret."""

    def fail(*_: object) -> None:
        raise ValueError(SECRET)

    monkeypatch.setattr("toolstream_core.engine.record_builder.RecordBuilder.__call__", fail)
    flow = llm_flow()
    with caplog.at_level(logging.ERROR):
        stream_response(addon[0], flow, CHUNK, CHUNK, DONE)
    (message,) = caplog.messages
    assert flow.id in message
    assert "ValueError at test_addon.py" in message
    assert SECRET not in message
