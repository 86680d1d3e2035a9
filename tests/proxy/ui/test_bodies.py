"""Bodies of streamed LLM responses in mitmweb and the console."""

from __future__ import annotations

import gc
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy import flow as mitmflow
from mitmproxy.exceptions import OptionsError
from mitmproxy.io import FlowReader
from mitmproxy.test import taddons

from tests.proxy.flows import CHUNK, DONE, flow_file, llm_flow
from tests.proxy.ui.interfaces import Interface, interface
from toolstream_core.proxy.addon import ToolstreamAddon

if TYPE_CHECKING:
    from pathlib import Path

    from mitmproxy import http

FIRST_FRAGMENT = CHUNK.replace(b'"{}"', b'"{"')
EMPTY_ID = CHUNK.replace(b'"id":"c1"', b'"id":""').replace(b'"{}"', b'"}"').replace(b'"name":"ls",', b"")


def stream_response(
    addon: ToolstreamAddon, *chunks: bytes, broken: bool = False, path: str = "/v1/chat/completions"
) -> Any:
    """Pass a streamed response through the addon; return its flow and the forwarded chunks."""
    flow = llm_flow()
    flow.request.path = path
    assert flow.response is not None
    flow.response.raw_content = None
    addon.request(flow)
    addon.responseheaders(flow)
    stream = flow.response.stream
    received: list[bytes] = []
    for chunk in chunks if broken else (*chunks, b""):
        forwarded = stream(chunk) if callable(stream) else chunk
        received += [forwarded] if isinstance(forwarded, bytes) else forwarded
    if broken:
        flow.error = mitmflow.Error("peer closed connection")
        addon.error(flow)
    else:
        addon.response(flow)
    return flow, received


def shown_response(mitm: Interface, *chunks: bytes, **how: Any) -> http.HTTPFlow:
    """Pass a streamed response through the addon and return its flow from the list of flows."""
    flow, _ = stream_response(mitm.addon, *chunks, **how)
    mitm.view.add([flow])
    assert isinstance(flow, type(llm_flow()))
    return flow


def saved_body(flow: http.HTTPFlow) -> bytes | None:
    """Return the body of the flow in a flow file."""
    loaded = next(iter(FlowReader(io.BytesIO(flow_file(flow))).stream()))
    return loaded.response.raw_content  # type: ignore[attr-defined,no-any-return]


def test_a_streamed_body_is_shown_and_not_saved() -> None:
    """The client gets the same byte objects, and a flow file has no body, as without toolstream."""
    with interface() as mitm:
        flow, received = stream_response(mitm.addon, CHUNK, DONE)
        assert [id(chunk) for chunk in received] == [id(CHUNK), id(DONE)]
        assert flow.response.content == CHUNK + DONE
        assert "call 0: ls" in mitm.text(flow, flow.response)
        assert saved_body(flow) is None
        assert flow.copy().response.raw_content is None
        mitm.context.options.store_streamed_bodies = True
        assert saved_body(flow) == CHUNK + DONE


def test_a_body_that_the_user_sets_is_saved() -> None:
    """A body that the user sets is not removed."""
    with interface() as mitm:
        flow = shown_response(mitm, CHUNK, DONE)
        assert flow.response is not None
        flow.response.content = b"mine"
        mitm.context.configure(mitm.addon, toolstream_keep_bodies="0")
        assert saved_body(flow) == flow.response.content == b"mine"


@pytest.mark.parametrize("options", [{"toolstream_keep_bodies": "0"}, {"store_streamed_bodies": True}])
def test_bodies_are_not_kept_against_the_options(options: dict[str, Any]) -> None:
    """No body is kept if the user disabled it or if mitmproxy keeps it itself."""
    with interface() as mitm:
        mitm.context.configure(mitm.addon, **options)
        flow = shown_response(mitm, CHUNK, DONE)
        assert flow.response is not None
        assert flow.response.raw_content is None


def test_mitmdump_keeps_no_bodies() -> None:
    """Mitmdump has no list of flows that could show a body."""
    addon = ToolstreamAddon()
    with taddons.context(addon) as context:
        context.configure(addon, toolstream_log="off")
        addon.running()
        assert stream_response(addon, CHUNK, DONE)[0].response.raw_content is None


def test_a_truncated_response_is_shown() -> None:
    """The part that was received is shown."""
    with interface() as mitm:
        flow = shown_response(mitm, CHUNK, broken=True)
        assert flow.response is not None
        assert flow.response.content == CHUNK
        assert "truncated" in mitm.text(flow, flow.response, "tool calls")


def test_a_repaired_response_is_shown_as_the_client_received_it() -> None:
    """The view of events shows what the provider sent."""
    with interface(toolstream_repair=["empty-id"]) as mitm:
        flow = shown_response(mitm, FIRST_FRAGMENT, EMPTY_ID, DONE)
        assert flow.response is not None
        assert flow.response.content is not None
        assert flow.response.content.startswith(FIRST_FRAGMENT)
        assert b'"id":""' not in flow.response.content
        assert 'id=""' in mitm.text(flow, flow.response, "events")
        calls = mitm.text(flow, flow.response, "tool calls")
        assert "repaired (empty-id)" in calls.replace("\n     ", "")


def test_the_newest_bodies_are_kept() -> None:
    """The oldest bodies are removed at the limit, and the list of flows is updated."""
    with interface(toolstream_keep_bodies=str(3 * len(CHUNK + DONE))) as mitm:
        updated: list[str] = []

        def note(flow: mitmflow.Flow) -> None:
            updated.append(flow.id)

        mitm.view.sig_view_update.connect(note)
        flows = [shown_response(mitm, CHUNK, DONE) for _ in range(5)]
        kept = [flow.response is not None and flow.response.raw_content is not None for flow in flows]
        assert kept == [False, False, True, True, True]
        assert {flows[0].id, flows[1].id} <= set(updated)
        mitm.context.configure(mitm.addon, toolstream_keep_bodies=str(len(CHUNK + DONE)))
        assert [flow.response is not None and bool(flow.response.raw_content) for flow in flows] == [False] * 4 + [True]


def test_a_body_beyond_the_limit_is_not_kept() -> None:
    """No part of a longer body is kept, as it would look like the response, and earlier bodies are removed."""
    with interface(toolstream_keep_bodies="2k") as mitm:
        assert shown_response(mitm, CHUNK, DONE).response.raw_content is not None  # type: ignore[union-attr]
        long = shown_response(mitm, *[CHUNK] * 40, DONE)
        assert long.response is not None
        assert long.response.raw_content is None
        assert mitm.addon.interface.bodies.size == 0
        assert shown_response(mitm, CHUNK, DONE).response.raw_content is not None  # type: ignore[union-attr]


def test_other_streams_are_not_kept() -> None:
    """A stream that is not from an LLM takes no memory from LLM responses."""
    with interface(toolstream_keep_bodies="2k") as mitm:
        flow = shown_response(mitm, CHUNK, DONE)
        other = shown_response(mitm, *[b'data: {"price": 1}\n\n'] * 400, path="/prices")
        assert flow.response is not None
        assert other.response is not None
        assert (flow.response.raw_content, other.response.raw_content) == (CHUNK + DONE, None)


def test_the_bodies_of_removed_flows_are_freed_first() -> None:
    """A body of a removed flow is freed before any body in the list."""
    with interface(toolstream_keep_bodies=str(2 * len(CHUNK + DONE))) as mitm:
        first = shown_response(mitm, CHUNK, DONE)
        mitm.view.remove([shown_response(mitm, CHUNK, DONE)])
        gc.collect()
        last = shown_response(mitm, CHUNK, DONE)
        assert [flow.response is not None and bool(flow.response.raw_content) for flow in (first, last)] == [True, True]


@pytest.mark.parametrize("stored", [False, True])
def test_a_har_file_has_the_bodies_of_a_flow_file(stored: bool, tmp_path: Path) -> None:
    """Saving a HAR file does not change the shown body."""
    with interface() as mitm:
        flow = shown_response(mitm, CHUNK, DONE)
        mitm.context.configure(mitm.addon, store_streamed_bodies=stored)
        path = tmp_path / "flows.har"
        mitm.context.master.commands.call_strings("save.har", ["@all", str(path)])
        entry = json.loads(path.read_text())["log"]["entries"][0]
        assert entry["request"]["url"].endswith("/v1/chat/completions")
        assert entry["response"]["content"]["text"] == ((CHUNK + DONE).decode() if stored else "")
        assert flow.response is not None
        assert flow.response.raw_content == CHUNK + DONE


def test_bodies_are_removed_when_the_proxy_stops() -> None:
    """Files that mitmproxy writes at its end (`hardump`) are as without toolstream."""
    with interface() as mitm:
        flow = shown_response(mitm, CHUNK, DONE)
        mitm.addon.done()
        assert flow.response is not None
        assert flow.response.raw_content is None


def test_an_invalid_size_is_rejected() -> None:
    """The error names the option and the value."""
    with interface() as mitm, pytest.raises(OptionsError, match="toolstream_keep_bodies: 'much' is not a number"):
        mitm.context.configure(mitm.addon, toolstream_keep_bodies="much")
