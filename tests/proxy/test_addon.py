"""The addon inside a mitmproxy master: options, which flows are watched, hooks."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest
from mitmproxy import exceptions
from mitmproxy.addons.next_layer import NextLayer
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.test import taddons

from tests.conftest import ROOT
from tests.proxy.flows import CHUNK, DONE, SECRET, llm_flow
from toolstream_core.engine.sink import Sink
from toolstream_core.proxy.addon import ToolstreamAddon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mitmproxy import http

    from toolstream_core.model import Record


@pytest.fixture
def addon() -> Iterator[tuple[ToolstreamAddon, taddons.context]]:
    """The addon, loaded; a test that wants its lines calls `running` itself, when its standard output is captured."""
    made = ToolstreamAddon()
    with taddons.context(Proxyserver(), made) as context:
        yield made, context
        made.done()


def play(addon: ToolstreamAddon, flow: http.HTTPFlow, *chunks: bytes) -> None:
    """Let an answer stream through."""
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
    ("option", "value", "right"),
    [
        ("toolstream_log", "loud", "off, calls, chunks"),
        ("toolstream_filter", "~nonsense (", "~d api.openai.com"),
        ("toolstream_jsonl", "/no/such/folder/f", "an existing folder"),
        ("toolstream_provider", ["/no/such.flow"], "no/such.flow"),
        ("toolstream_provider_repeats", -1, "-1 is negative. Expected a number, or 0 for no limit"),
    ],
)
def test_wrong_options(addon: tuple[ToolstreamAddon, taddons.context], option: str, value: object, right: str) -> None:
    """The error names what would be right."""
    with pytest.raises(exceptions.OptionsError, match=right):
        addon[1].configure(addon[0], **{option: value})


def test_a_stream_is_told(addon: tuple[ToolstreamAddon, taddons.context], capsys: pytest.CaptureFixture[str]) -> None:
    """A head with the flow's id, its chunks and calls, without the request's secrets."""
    flow = llm_flow()
    play(addon[0], flow, CHUNK.replace(b'"{}"', b'"{\\"k\\":\\"' + SECRET.encode() + b'\\"}"'), DONE)
    addon[0].done()
    lines = capsys.readouterr().out.splitlines()
    assert [line.endswith(f"  flow {flow.id}") for line in lines] == [True] + [False] * (len(lines) - 1)
    assert all(line.startswith("#1 ") for line in lines)
    assert any("call 0 ls" in line for line in lines)
    assert SECRET not in "".join(lines)


def test_levels(addon: tuple[ToolstreamAddon, taddons.context], capsys: pytest.CaptureFixture[str]) -> None:
    """`calls` tells the end only; `off` nothing, and the stream is let through all the same."""
    addon[1].configure(addon[0], toolstream_log="calls")
    play(addon[0], llm_flow(), CHUNK, DONE)
    addon[0].done()
    assert "event" not in capsys.readouterr().out.splitlines()[0]
    addon[1].configure(addon[0], toolstream_log="off")
    flow = llm_flow()
    addon[0].responseheaders(flow)
    assert flow.response is not None
    assert flow.response.stream is True
    addon[0].response(flow)
    assert capsys.readouterr().out == ""


class Kept(Sink):
    """Keeps the records it is told."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def ended(self, record: Record) -> None:
        self.records.append(record)


def test_listeners_are_told_of_each_answer() -> None:
    """Also where nothing is printed; a gate that is there from the start stays when faults come and go."""
    kept, flow = Kept(), llm_flow()
    addon = ToolstreamAddon(lambda watch: [kept] if watch.flow is flow else [], gated=True)
    with taddons.context(Proxyserver(), NextLayer(), addon) as context:
        context.configure(addon, toolstream_log="off")
        addon.running()
        play(addon, flow, CHUNK, DONE)
        assert [call.name for record in kept.records for call in record.calls] == ["ls"]
        first = context.master.addons.get("toolstream-gate")
        context.configure(addon, toolstream_fault=["cut"])
        context.configure(addon, toolstream_fault=[])
        assert first is not None
        assert context.master.addons.get("toolstream-gate") is first
        addon.done()


def test_filter(addon: tuple[ToolstreamAddon, taddons.context]) -> None:
    """What does not match streams unwatched."""
    addon[1].configure(addon[0], toolstream_filter="~d elsewhere.example")
    flow = llm_flow()
    addon[0].responseheaders(flow)
    assert flow.response is not None
    assert flow.response.stream is True


@pytest.mark.parametrize(
    ("authorization", "coding"),
    [("Bearer key", "identity"), ("AWS4-HMAC-SHA256 Credential=a, SignedHeaders=accept-encoding, Signature=b", "gzip")],
)
def test_a_signed_request_stays_as_it_is(
    addon: tuple[ToolstreamAddon, taddons.context], authorization: str, coding: str
) -> None:
    """Others ask for an answer that can be rewritten as it comes."""
    made, context = addon
    context.configure(made, toolstream_repair=["safe"])
    flow = llm_flow()
    flow.request.headers["authorization"] = authorization
    flow.request.headers["accept-encoding"] = "gzip"
    made.request(flow)
    assert flow.request.headers["accept-encoding"] == coding


def test_other_traffic_is_not_touched(addon: tuple[ToolstreamAddon, taddons.context]) -> None:
    """Neither streamed nor watched."""
    flow = llm_flow("text/html")
    flow.request.path = "/index.html"
    flow.request.content = b""
    addon[0].responseheaders(flow)
    assert flow.response is not None
    assert flow.response.stream is False
    addon[0].response(flow)


def test_a_whole_answer_is_read(
    addon: tuple[ToolstreamAddon, taddons.context], capsys: pytest.CaptureFixture[str]
) -> None:
    """Not streamed: mitmproxy keeps its body, and its calls are told."""
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


def test_a_broken_answer_is_told(
    addon: tuple[ToolstreamAddon, taddons.context], capsys: pytest.CaptureFixture[str]
) -> None:
    """The last chunk never comes; the error does."""
    addon[0].running()
    flow = llm_flow()
    addon[0].responseheaders(flow)
    assert flow.response is not None
    assert callable(flow.response.stream)
    flow.response.stream(CHUNK)
    addon[0].error(flow)
    addon[0].done()
    assert "truncated-stream" in capsys.readouterr().out


def test_another_addons_stream_still_has_its_say(addon: tuple[ToolstreamAddon, taddons.context]) -> None:
    """What it returns is what goes on."""
    flow = llm_flow()
    assert flow.response is not None
    flow.response.stream = lambda chunk: chunk.upper()
    addon[0].responseheaders(flow)
    assert callable(flow.response.stream)
    assert flow.response.stream(b"data: x\n\n") == b"DATA: X\n\n"


def test_jsonl(addon: tuple[ToolstreamAddon, taddons.context], tmp_path: Path) -> None:
    """One object an event, in a file of its owner's."""
    path = tmp_path / "told.jsonl"
    addon[1].configure(addon[0], toolstream_jsonl=str(path))
    flow = llm_flow()
    play(addon[0], flow, CHUNK, DONE)
    addon[0].done()
    objects = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [one["type"] for one in objects if one["type"] != "finding"] == ["event", "event", "end"]
    assert {one["flow"] for one in objects} == {flow.id}


def test_provider(addon: tuple[ToolstreamAddon, taddons.context]) -> None:
    """Saved flows answer, and mitmproxy connects to nobody."""
    addon[1].configure(addon[0], toolstream_provider=[str(ROOT / "flows" / "openai-chat-single.flow")])
    assert addon[1].options.connection_strategy == "lazy"
    flow = llm_flow()
    flow.response = None
    addon[0].request(flow)
    assert getattr(flow.response, "status_code", None) == 200


def test_a_failure_of_ours_is_one_clear_error(
    addon: tuple[ToolstreamAddon, taddons.context], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the flow and the place, not the text of the exception, which may hold anything."""

    def fail(*_: object) -> None:
        raise ValueError(SECRET)

    monkeypatch.setattr("toolstream_core.engine.record_builder.RecordBuilder.__call__", fail)
    flow = llm_flow()
    with caplog.at_level(logging.ERROR):
        play(addon[0], flow, CHUNK, CHUNK, DONE)
    (message,) = caplog.messages
    assert flow.id in message
    assert "ValueError at test_addon.py" in message
    assert SECRET not in message
