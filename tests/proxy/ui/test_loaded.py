"""Flows that the console loads from a file with its own command."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy import http
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow

from tests.proxy.flows import DONE, SECRET
from tests.proxy.ui.shown import FLOWS, Shown, interface
from tests.proxy.ui.test_marks import HEALTHY
from tests.proxy.ui.test_views import answered, call
from tests.saved.test_sockets import socket
from tests.sockets import conversation
from toolstream_core.proxy.ui import facts, written

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}


def load(shown: Shown, path: Path) -> list[http.HTTPFlow]:
    """Load a file as the console's key `L` does; the new flows, once they were read."""
    before = {flow.id for flow in shown.view.resolve("@all")}

    async def loading() -> None:
        shown.context.master.commands.call_strings("view.flows.load", [str(path)])
        await asyncio.gather(*shown.addon.interface.loading)

    asyncio.run(loading())
    return [one for one in shown.view.resolve("@all") if one.id not in before and isinstance(one, http.HTTPFlow)]


def saved(path: Path, flows: Iterable[http.HTTPFlow]) -> Path:
    """A file with flows."""
    with path.open("wb") as file:
        writer = FlowWriter(file)
        for flow in flows:
            writer.add(flow)
    return path


def state(flow: http.HTTPFlow) -> tuple[Any, ...]:
    """What the list of flows shows, and filters find."""
    return flow.marked, flow.comment, {name: one for name, one in flow.metadata.items() if "toolstream_" in name}


def texts(shown: Shown, flows: Iterable[http.HTTPFlow]) -> list[str]:
    """What is shown of flows, without their ids."""
    found: list[str] = []
    for flow in flows:
        messages = [flow.request, flow.response, *(flow.websocket.messages if flow.websocket else ())]
        found += [shown.text(flow, message) for message in messages]
    for flow in flows:
        found = [text.replace(flow.id, "ID") for text in found]
    return found


@pytest.mark.parametrize("path", sorted(FLOWS.glob("*.flow")), ids=lambda path: path.stem)
def test_loaded_flows_are_shown_as_those_of_a_session(path: Path) -> None:
    """With the same marks, comments, metadata and texts as flows that pass the addons."""
    before = path.read_bytes()
    with interface() as passing:
        wanted_flows = passing.load(path)
        wanted, wanted_texts = [state(one) for one in wanted_flows], texts(passing, wanted_flows)
    with interface() as shown:
        flows = load(shown, path)
        assert [state(one) for one in flows] == wanted
        assert texts(shown, flows) == wanted_texts
    assert path.read_bytes() == before


def test_loaded_flows_have_verdicts(tmp_path: Path) -> None:
    """Of responses on a WebSocket too; without secrets, and not over what a user set."""
    flows = [answered(HEALTHY), answered(DONE, call("c1", '{"x":1}'), RESULT), socket(conversation.two_answers())]
    path = saved(tmp_path / "session.flow", flows)
    flows[0].comment = "mine"
    own = saved(tmp_path / "own.flow", flows)
    with interface() as shown:
        for file, comment in ((path, "wrong-arguments"), (own, "mine")):
            first, second, other = load(shown, file)
            assert (first.marked, first.comment) == (":x:", comment)
            assert first.metadata["toolstream_misread"] is True
            assert shown.text(first, first.response).startswith("verdict: The client returned call 0 ls with other")
            assert shown.result(second, second.request).view_name == "Tool calls"
            assert other.metadata["toolstream_verdict"] == "results-only"
            assert SECRET not in shown.text(first, first.response)


def test_what_is_loaded_is_not_processed(tmp_path: Path) -> None:
    """Repairs, faults, captures and the log are for traffic."""
    path = FLOWS / "deepseek-empty-id.flow"
    with interface(
        toolstream_repair=["safe"],
        toolstream_fault=["empty-id"],
        toolstream_capture=str(tmp_path / "captured"),
        toolstream_jsonl=str(tmp_path / "log.jsonl"),
    ) as shown:
        flow = load(shown, path)[0]
        assert (flow.marked, flow.comment) == (":small_red_triangle_down:", "empty-id at event 2")
    assert [one for one in tmp_path.rglob("*") if one.is_file() and one.read_bytes()] == []


def test_other_flows_and_files(tmp_path: Path) -> None:
    """Flows without a response or of other hosts stay as they are; a filter leaves flows out."""
    other, open_one = tflow.tflow(resp=True), answered(b"")
    open_one.response = None
    path = saved(tmp_path / "others.flow", [other, open_one, answered(HEALTHY)])
    with interface(toolstream_filter="~d nobody.example") as shown:
        assert [state(one) for one in load(shown, path)] == [("", "", {})] * 3
        assert load(shown, tmp_path / "missing.flow") == []
    with interface() as shown:
        assert [one.metadata.get("toolstream_protocol") for one in load(shown, path)] == [None, None, "openai-chat"]


@pytest.mark.parametrize("place", ["saved_response", "read_body"])
def test_a_flow_that_cannot_be_read_stops_no_other(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An internal error is logged."""
    path = saved(tmp_path / "two.flow", [answered(DONE, RESULT), answered(HEALTHY)])
    module = written if place == "saved_response" else facts
    right = getattr(module, place)
    failing = iter([True, False])

    def wrong(*arguments: Any, **named: Any) -> Any:
        if next(failing):
            raise RuntimeError(place)
        return right(*arguments, **named)

    with interface() as shown:
        monkeypatch.setattr(module, place, wrong)
        flows = load(shown, path)
    assert [bool(one.metadata.get("toolstream_protocol")) for one in flows] == [False, True]
    assert "toolstream cannot show" in caplog.text
