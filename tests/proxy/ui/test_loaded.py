"""Flows that the console's own command loads from a file."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy import http
from mitmproxy.test import tflow

from tests.conftest import FLOWS
from tests.proxy.flows import DONE, SECRET, flow_file
from tests.proxy.ui.interfaces import Interface, interface
from tests.proxy.ui.test_marks import HEALTHY
from tests.proxy.ui.test_views import response_flow, returned_call
from tests.saved.test_sockets import socket
from tests.sockets import conversation
from toolstream_core.proxy.ui import facts, written

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}


def load(mitm: Interface, path: Path) -> list[http.HTTPFlow]:
    """Load a file as the console's key `L` does and return the new flows."""
    before = {flow.id for flow in mitm.view.resolve("@all")}

    async def loading() -> None:
        mitm.context.master.commands.call_strings("view.flows.load", [str(path)])
        await asyncio.gather(*mitm.addon.interface.loading)

    asyncio.run(loading())
    return [flow for flow in mitm.view.resolve("@all") if flow.id not in before and isinstance(flow, http.HTTPFlow)]


def save(path: Path, flows: Iterable[http.HTTPFlow]) -> Path:
    """Write flows into a file and return its path."""
    path.write_bytes(flow_file(*flows))
    return path


def state(flow: http.HTTPFlow) -> tuple[Any, ...]:
    """Return what the list of flows shows and what filters match."""
    return flow.marked, flow.comment, {key: value for key, value in flow.metadata.items() if "toolstream_" in key}


def texts(mitm: Interface, flows: Iterable[http.HTTPFlow]) -> list[str]:
    """Return the texts of all messages, with flow ids replaced."""
    shown_texts: list[str] = []
    for flow in flows:
        messages = [flow.request, flow.response, *(flow.websocket.messages if flow.websocket else ())]
        shown_texts += [mitm.text(flow, message) for message in messages]
    for flow in flows:
        shown_texts = [text.replace(flow.id, "ID") for text in shown_texts]
    return shown_texts


@pytest.mark.parametrize("path", sorted(FLOWS.glob("*.flow")), ids=lambda path: path.stem)
def test_loaded_flows_are_shown_like_live_flows(path: Path) -> None:
    """They have the same marks, comments, metadata and texts as flows that pass through the hooks."""
    before = path.read_bytes()
    with interface() as live:
        expected_flows = live.load(path)
        expected, expected_texts = [state(flow) for flow in expected_flows], texts(live, expected_flows)
    with interface() as mitm:
        flows = load(mitm, path)
        assert [state(flow) for flow in flows] == expected
        assert texts(mitm, flows) == expected_texts
    assert path.read_bytes() == before


def test_loaded_flows_have_verdicts(tmp_path: Path) -> None:
    """Loaded responses have verdicts without secrets, also on a WebSocket, and a user's comment stays."""
    flows = [
        response_flow(HEALTHY),
        response_flow(DONE, returned_call("c1", '{"x":1}'), RESULT),
        socket(conversation.two_responses()),
    ]
    path = save(tmp_path / "session.flow", flows)
    flows[0].comment = "mine"
    own = save(tmp_path / "own.flow", flows)
    with interface() as mitm:
        for file, comment in ((path, "wrong-arguments"), (own, "mine")):
            first, second, other = load(mitm, file)
            assert (first.marked, first.comment) == (":x:", comment)
            assert first.metadata["toolstream_misread"] is True
            assert mitm.text(first, first.response).startswith("verdict: The client returned call 0 ls with other")
            assert mitm.result(second, second.request).view_name == "Tool calls"
            assert other.metadata["toolstream_verdict"] == "results-only"
            assert SECRET not in mitm.text(first, first.response)


def test_loaded_flows_are_not_processed(tmp_path: Path) -> None:
    """Repairs, faults, captures and the log apply to traffic only."""
    path = FLOWS / "deepseek-empty-id.flow"
    with interface(
        toolstream_repair=["safe"],
        toolstream_fault=["empty-id"],
        toolstream_capture=str(tmp_path / "captured"),
        toolstream_jsonl=str(tmp_path / "log.jsonl"),
    ) as mitm:
        flow = load(mitm, path)[0]
        assert (flow.marked, flow.comment) == (":small_red_triangle_down:", "empty-id at event 2")
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes()] == []


def test_other_flows_and_files(tmp_path: Path) -> None:
    """Flows without an LLM response and filtered flows do not change, and a missing file loads nothing."""
    other, unfinished = tflow.tflow(resp=True), response_flow(b"")
    unfinished.response = None
    path = save(tmp_path / "others.flow", [other, unfinished, response_flow(HEALTHY)])
    with interface(toolstream_filter="~d nobody.example") as mitm:
        assert [state(flow) for flow in load(mitm, path)] == [("", "", {})] * 3
        assert load(mitm, tmp_path / "missing.flow") == []
    with interface() as mitm:
        assert [flow.metadata.get("toolstream_protocol") for flow in load(mitm, path)] == [None, None, "openai-chat"]


@pytest.mark.parametrize("function", ["saved_response", "read_body"])
def test_an_internal_error_does_not_affect_other_flows(
    function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An internal error on one flow is logged."""
    path = save(tmp_path / "two.flow", [response_flow(DONE, RESULT), response_flow(HEALTHY)])
    module = written if function == "saved_response" else facts
    original = getattr(module, function)
    failing = iter([True, False])

    def fails_once(*arguments: Any, **named: Any) -> Any:
        if next(failing):
            raise RuntimeError(function)
        return original(*arguments, **named)

    with interface() as mitm:
        monkeypatch.setattr(module, function, fails_once)
        flows = load(mitm, path)
    assert [bool(flow.metadata.get("toolstream_protocol")) for flow in flows] == [False, True]
    assert "toolstream cannot show" in caplog.text
