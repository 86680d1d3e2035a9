"""Bodies of streamed LLM responses in mitmweb and the console."""

from __future__ import annotations

import gc
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy import flow as mitmflow
from mitmproxy.exceptions import OptionsError
from mitmproxy.io import FlowReader, FlowWriter
from mitmproxy.test import taddons

from tests.proxy.flows import CHUNK, DONE, llm_flow
from tests.proxy.ui.shown import Shown, interface
from toolstream_core.proxy.addon import ToolstreamAddon

if TYPE_CHECKING:
    from pathlib import Path

    from mitmproxy import http

BEGUN = CHUNK.replace(b'"{}"', b'"{"')
EMPTY_ID = CHUNK.replace(b'"id":"c1"', b'"id":""').replace(b'"{}"', b'"}"').replace(b'"name":"ls",', b"")


def play(addon: ToolstreamAddon, *chunks: bytes, broken: bool = False, path: str = "/v1/chat/completions") -> Any:
    """Let a streamed response pass; its flow, and what the client got."""
    flow = llm_flow()
    flow.request.path = path
    assert flow.response is not None
    flow.response.raw_content = None
    addon.request(flow)
    addon.responseheaders(flow)
    stream = flow.response.stream
    passed: list[bytes] = []
    for chunk in chunks if broken else (*chunks, b""):
        made = stream(chunk) if callable(stream) else chunk
        passed += [made] if isinstance(made, bytes) else made
    if broken:
        flow.error = mitmflow.Error("peer closed connection")
        addon.error(flow)
    else:
        addon.response(flow)
    return flow, passed


def shown_in(mitm: Shown, *chunks: bytes, **how: Any) -> http.HTTPFlow:
    """As `play`, in the list of flows."""
    flow, _ = play(mitm.addon, *chunks, **how)
    mitm.view.add([flow])
    assert isinstance(flow, type(llm_flow()))
    return flow


def saved(flow: http.HTTPFlow) -> bytes | None:
    """The body that a flow file has."""
    file = io.BytesIO()
    FlowWriter(file).add(flow)
    file.seek(0)
    found = next(iter(FlowReader(file).stream()))
    return found.response.raw_content  # type: ignore[attr-defined,no-any-return]


def test_a_streamed_body_is_shown_and_not_saved() -> None:
    """The client gets the very objects that came; a flow file has no body, as without toolstream."""
    with interface() as mitm:
        flow, passed = play(mitm.addon, CHUNK, DONE)
        assert [id(piece) for piece in passed] == [id(CHUNK), id(DONE)]
        assert flow.response.content == CHUNK + DONE
        assert "call 0: ls" in mitm.text(flow, flow.response)
        assert saved(flow) is None
        assert flow.copy().response.raw_content is None
        mitm.context.options.store_streamed_bodies = True
        assert saved(flow) == CHUNK + DONE


def test_what_a_user_sets_is_saved() -> None:
    """Its own body is no kept one, and goes on being its own."""
    with interface() as mitm:
        flow = shown_in(mitm, CHUNK, DONE)
        assert flow.response is not None
        flow.response.content = b"mine"
        mitm.context.configure(mitm.addon, toolstream_keep_bodies="0")
        assert saved(flow) == flow.response.content == b"mine"


@pytest.mark.parametrize("options", [{"toolstream_keep_bodies": "0"}, {"store_streamed_bodies": True}])
def test_a_choice_of_the_user_counts(options: dict[str, Any]) -> None:
    """Nothing is kept that the user does not want kept, or that mitmproxy keeps itself."""
    with interface() as mitm:
        mitm.context.configure(mitm.addon, **options)
        flow = shown_in(mitm, CHUNK, DONE)
        assert flow.response is not None
        assert flow.response.raw_content is None


def test_mitmdump_keeps_none() -> None:
    """It has no list of flows."""
    addon = ToolstreamAddon()
    with taddons.context(addon) as context:
        context.configure(addon, toolstream_log="off")
        addon.running()
        assert play(addon, CHUNK, DONE)[0].response.raw_content is None


def test_a_response_that_breaks_off_is_shown() -> None:
    """As far as it came."""
    with interface() as mitm:
        flow = shown_in(mitm, CHUNK, broken=True)
        assert flow.response is not None
        assert flow.response.content == CHUNK
        assert "truncated" in mitm.text(flow, flow.response, "tool calls")


def test_a_repaired_response_is_shown_as_the_client_got_it() -> None:
    """The views have what the provider sent too."""
    with interface(toolstream_repair=["empty-id"]) as mitm:
        flow = shown_in(mitm, BEGUN, EMPTY_ID, DONE)
        assert flow.response is not None
        assert flow.response.content is not None
        assert flow.response.content.startswith(BEGUN)
        assert b'"id":""' not in flow.response.content
        assert 'id=""' in mitm.text(flow, flow.response, "events")
        calls = mitm.text(flow, flow.response, "tool calls")
        assert "repaired (empty-id)" in calls.replace("\n     ", "")


def test_the_newest_are_kept() -> None:
    """Up to the limit; the list is refreshed where a body goes."""
    with interface(toolstream_keep_bodies=str(3 * len(CHUNK + DONE))) as mitm:
        updated: list[str] = []

        def note(flow: mitmflow.Flow) -> None:
            updated.append(flow.id)

        mitm.view.sig_view_update.connect(note)
        flows = [shown_in(mitm, CHUNK, DONE) for _ in range(5)]
        kept = [flow.response is not None and flow.response.raw_content is not None for flow in flows]
        assert kept == [False, False, True, True, True]
        assert {flows[0].id, flows[1].id} <= set(updated)
        mitm.context.configure(mitm.addon, toolstream_keep_bodies=str(len(CHUNK + DONE)))
        assert [flow.response is not None and bool(flow.response.raw_content) for flow in flows] == [False] * 4 + [True]


def test_a_body_beyond_the_limit_is_not_kept() -> None:
    """No part of it either: it would be taken for the response. Those before it have gone to make room."""
    with interface(toolstream_keep_bodies="2k") as mitm:
        assert shown_in(mitm, CHUNK, DONE).response.raw_content is not None  # type: ignore[union-attr]
        long = shown_in(mitm, *[CHUNK] * 40, DONE)
        assert long.response is not None
        assert long.response.raw_content is None
        assert mitm.addon.interface.bodies.size == 0
        assert shown_in(mitm, CHUNK, DONE).response.raw_content is not None  # type: ignore[union-attr]


def test_a_stream_of_no_llm_is_not_kept() -> None:
    """It takes no room from those that are, however long it is."""
    with interface(toolstream_keep_bodies="2k") as mitm:
        flow = shown_in(mitm, CHUNK, DONE)
        other = shown_in(mitm, *[b'data: {"price": 1}\n\n'] * 400, path="/prices")
        assert flow.response is not None
        assert other.response is not None
        assert (flow.response.raw_content, other.response.raw_content) == (CHUNK + DONE, None)


def test_flows_that_are_removed_make_room() -> None:
    """Before any that is still in the list."""
    with interface(toolstream_keep_bodies=str(2 * len(CHUNK + DONE))) as mitm:
        first = shown_in(mitm, CHUNK, DONE)
        mitm.view.remove([shown_in(mitm, CHUNK, DONE)])
        gc.collect()
        last = shown_in(mitm, CHUNK, DONE)
        assert [flow.response is not None and bool(flow.response.raw_content) for flow in (first, last)] == [True, True]


@pytest.mark.parametrize("stored", [False, True])
def test_save_har(stored: bool, tmp_path: Path) -> None:
    """A HAR file has the bodies that a flow file has; what is shown stays."""
    with interface() as mitm:
        flow = shown_in(mitm, CHUNK, DONE)
        mitm.context.configure(mitm.addon, store_streamed_bodies=stored)
        path = tmp_path / "flows.har"
        mitm.context.master.commands.call_strings("save.har", ["@all", str(path)])
        entry = json.loads(path.read_text())["log"]["entries"][0]
        assert entry["request"]["url"].endswith("/v1/chat/completions")
        assert entry["response"]["content"]["text"] == ((CHUNK + DONE).decode() if stored else "")
        assert flow.response is not None
        assert flow.response.raw_content == CHUNK + DONE


def test_the_end_of_the_proxy_drops_all() -> None:
    """What mitmproxy writes as it ends (`hardump`) is as without toolstream."""
    with interface() as mitm:
        flow = shown_in(mitm, CHUNK, DONE)
        mitm.addon.done()
        assert flow.response is not None
        assert flow.response.raw_content is None


def test_a_wrong_size_is_refused() -> None:
    """With what would be right."""
    with interface() as mitm, pytest.raises(OptionsError, match="toolstream_keep_bodies: 'much' is not a number"):
        mitm.context.configure(mitm.addon, toolstream_keep_bodies="much")
