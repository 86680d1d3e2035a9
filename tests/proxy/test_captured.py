"""Watched answers that are captured: through the addon, as mitmproxy calls it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy import flow as flows
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.test import taddons

from tests.e2e.harness.captures import noted, pieces, read
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
    """An addon that tells nothing."""
    with taddons.context(Proxyserver(), ToolstreamAddon()) as made:
        made.options.toolstream_log = "off"
        yield made


def addon(context: taddons.context) -> ToolstreamAddon:
    """The addon."""
    made = context.master.addons.get("toolstreamaddon")
    assert isinstance(made, ToolstreamAddon)
    return made


def play(context: taddons.context, flow: http.HTTPFlow, *chunks: bytes) -> list[object]:
    """Let an answer stream through, and give what goes on."""
    addon(context).responseheaders(flow)
    assert flow.response is not None
    assert callable(flow.response.stream)
    out: list[object] = [flow.response.stream(chunk) for chunk in (*chunks, b"")]
    addon(context).response(flow)
    return out


def written(context: taddons.context, folder: Path) -> list[http.HTTPFlow]:
    """The captures, all of them."""
    addon(context).done()
    return [read(path) for path in sorted(folder.iterdir())]


def test_bytes_pass_as_the_same_objects(context: taddons.context, tmp_path: Path) -> None:
    """Where only captures are on; none is written without the option."""
    flow = llm_flow()
    addon(context).responseheaders(flow)
    assert flow.response is not None
    assert flow.response.stream is True
    context.options.toolstream_capture = str(tmp_path)
    chunks = (CHUNK[:9], CHUNK[9:], DONE)
    out = play(context, llm_flow(), *chunks)
    assert all(one is other for one, other in zip(out, chunks, strict=False))
    [capture] = written(context, tmp_path)
    assert pieces(capture) == list(chunks)
    assert "sent" not in noted(capture)


def test_what_is_changed_is_there_twice(context: taddons.context, tmp_path: Path) -> None:
    """As upstream said it, and as the client received it."""
    context.options.update(toolstream_capture=str(tmp_path), toolstream_repair=["empty-id"])
    out = play(context, llm_flow(), CHUNK, EMPTY_ID, DONE)
    [capture] = written(context, tmp_path)
    assert pieces(capture) == [CHUNK, EMPTY_ID, DONE]
    assert [noted(capture)["sent"]["body"]] == [b"".join(piece for one in out for piece in _listed(one))]
    assert noted(capture)["record"]["changes"] == ["empty-id"]


def _listed(passed: Any) -> list[bytes]:
    return [passed] if isinstance(passed, bytes) else passed


def test_what_is_on_its_way_at_the_end(context: taddons.context, tmp_path: Path) -> None:
    """One that broke, and one that the proxy's own end cuts off."""
    context.options.toolstream_capture = str(tmp_path)
    broken, cut = llm_flow(), llm_flow()
    for flow in (broken, cut):
        addon(context).responseheaders(flow)
        assert flow.response is not None
        assert callable(flow.response.stream)
        flow.response.stream(CHUNK)
    broken.error = flows.Error("peer closed")
    addon(context).error(broken)
    assert [(noted(one)["broken"], pieces(one)) for one in written(context, tmp_path)] == [
        ("peer closed", [CHUNK]),
        ("the proxy was stopped", [CHUNK]),
    ]


def test_only_what_is_looked_at(context: taddons.context, tmp_path: Path) -> None:
    """The filter counts, and so does what is worth keeping."""
    context.options.update(toolstream_capture=str(tmp_path), toolstream_filter="~d llm.example")
    flow = llm_flow()
    addon(context).responseheaders(flow)
    flow.response = None
    flow.error = flows.Error("refused")
    addon(context).error(flow)
    context.options.update(toolstream_filter="", toolstream_capture_when="errors")
    play(context, llm_flow(), CHUNK, DONE)
    assert written(context, tmp_path) == []


def test_the_chunks_of_one_network_read(context: taddons.context, tmp_path: Path) -> None:
    """They are read together, and their cuts are kept, also where nothing is read any more."""
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
    captures = written(context, tmp_path)
    assert sorted(map(pieces, captures)) == sorted([[CHUNK, DONE] * 2, [b"no", b" stream", b" of ours"] * 2])
