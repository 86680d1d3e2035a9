"""Captures of watched responses, through the addon as mitmproxy calls it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy import flow as flows
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.test import taddons

from tests.e2e.harness.captures import metadata, read, upstream_chunks
from tests.proxy.flows import CHUNK, DONE, llm_flow
from toolstream_core.proxy.addon import ToolstreamAddon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mitmproxy import http

EMPTY_ID = CHUNK.replace(
    b'"id":"c1","function":{"name":"ls","arguments":"{}"}', b'"id":"","function":{"arguments":" "}'
)


@pytest.fixture
def context() -> Iterator[taddons.context]:
    """Yield a context with an addon that logs nothing."""
    with taddons.context(Proxyserver(), ToolstreamAddon()) as test_context:
        test_context.options.toolstream_log = "off"
        yield test_context


def addon(context: taddons.context) -> ToolstreamAddon:
    toolstream = context.master.addons.get("toolstreamaddon")
    assert isinstance(toolstream, ToolstreamAddon)
    return toolstream


def stream_response(context: taddons.context, flow: http.HTTPFlow, *chunks: bytes) -> list[object]:
    """Pass a response through the addon and return the forwarded chunks."""
    addon(context).responseheaders(flow)
    assert flow.response is not None
    assert callable(flow.response.stream)
    forwarded: list[object] = [flow.response.stream(chunk) for chunk in (*chunks, b"")]
    addon(context).response(flow)
    return forwarded


def captures_in(context: taddons.context, folder: Path) -> list[http.HTTPFlow]:
    """Close the addon and return all captures in the folder."""
    addon(context).done()
    return [read(path) for path in sorted(folder.iterdir())]


def test_a_capture_changes_no_bytes(context: taddons.context, tmp_path: Path) -> None:
    """The same byte objects are forwarded, and nothing is captured without the option."""
    flow = llm_flow()
    addon(context).responseheaders(flow)
    assert flow.response is not None
    assert flow.response.stream is True
    context.options.toolstream_capture = str(tmp_path)
    chunks = (CHUNK[:9], CHUNK[9:], DONE)
    forwarded = stream_response(context, llm_flow(), *chunks)
    assert all(sent is received for sent, received in zip(forwarded, chunks, strict=False))
    [capture] = captures_in(context, tmp_path)
    assert upstream_chunks(capture) == list(chunks)
    assert "sent" not in metadata(capture)


def test_a_changed_response_is_captured_twice(context: taddons.context, tmp_path: Path) -> None:
    """A capture has the response as the provider sent it and as the client received it."""
    context.options.update(toolstream_capture=str(tmp_path), toolstream_repair=["empty-id"])
    forwarded = stream_response(context, llm_flow(), CHUNK, EMPTY_ID, DONE)
    [capture] = captures_in(context, tmp_path)
    assert upstream_chunks(capture) == [CHUNK, EMPTY_ID, DONE]
    assert [metadata(capture)["sent"]["body"]] == [b"".join(chunk for chunks in forwarded for chunk in _listed(chunks))]
    assert metadata(capture)["record"]["changes"] == ["empty-id"]


def _listed(passed: Any) -> list[bytes]:
    return [passed] if isinstance(passed, bytes) else passed


def test_incomplete_responses_are_captured(context: taddons.context, tmp_path: Path) -> None:
    """A response is captured if its connection breaks and if the proxy is stopped before its end."""
    context.options.toolstream_capture = str(tmp_path)
    broken, unfinished = llm_flow(), llm_flow()
    for flow in (broken, unfinished):
        addon(context).responseheaders(flow)
        assert flow.response is not None
        assert callable(flow.response.stream)
        flow.response.stream(CHUNK)
    broken.error = flows.Error("peer closed")
    addon(context).error(broken)
    assert [(metadata(capture)["broken"], upstream_chunks(capture)) for capture in captures_in(context, tmp_path)] == [
        ("peer closed", [CHUNK]),
        ("the proxy was stopped", [CHUNK]),
    ]


def test_only_selected_responses_are_captured(context: taddons.context, tmp_path: Path) -> None:
    """A response is captured if the filter matches and the condition holds."""
    context.options.update(toolstream_capture=str(tmp_path), toolstream_filter="~d llm.example")
    flow = llm_flow()
    addon(context).responseheaders(flow)
    flow.response = None
    flow.error = flows.Error("refused")
    addon(context).error(flow)
    context.options.update(toolstream_filter="", toolstream_capture_when="errors")
    stream_response(context, llm_flow(), CHUNK, DONE)
    assert captures_in(context, tmp_path) == []


def test_the_chunks_of_one_network_read(context: taddons.context, tmp_path: Path) -> None:
    """Chunks of one network read are captured separately, also of a response that is not read."""
    context.options.toolstream_capture = str(tmp_path)
    for chunks in ((CHUNK, DONE), (b"no", b" stream", b" of ours")):
        flow = llm_flow()

        async def run(flow: http.HTTPFlow = flow, chunks: tuple[bytes, ...] = chunks) -> None:
            addon(context).responseheaders(flow)
            assert flow.response is not None
            assert callable(flow.response.stream)
            for _ in range(2):
                assert [flow.response.stream(chunk) for chunk in chunks] == list(chunks)
                await asyncio.sleep(0)
            flow.response.stream(b"")
            addon(context).response(flow)

        asyncio.run(run())
    captures = captures_in(context, tmp_path)
    assert sorted(map(upstream_chunks, captures)) == sorted([[CHUNK, DONE] * 2, [b"no", b" stream", b" of ours"] * 2])
