"""The saved flows, their table and their expectations."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy import http
from mitmproxy.io import FlowReader

from toolstream_core.saved.expectation import differences, dumps, expect_path, expectation_of, loads, read_expectation
from toolstream_core.saved.flow import chunks_of, packed
from toolstream_core.saved.read import load
from toolstream_core.saved.redact import redact
from toolstream_core.wire.aws_event_stream import MESSAGES, EventStreamFramer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mitmproxy.flow import Flow

FLOWS = Path(__file__).resolve().parents[1] / "flows"
FILES = sorted(FLOWS.glob("*.flow"))
BLANK_LINE = (b"\n\n", b"\r\n\r\n")


def states(flows: Iterable[Flow]) -> list[dict[str, Any]]:
    """Return the states of flows without the version of mitmproxy."""
    return [{**flow.get_state(), "version": 0} for flow in flows]


def flows_of(path: Path) -> list[http.HTTPFlow]:
    """Return the HTTP flows of a file."""
    with path.open("rb") as file:
        flows = list(FlowReader(file).stream())
    return [flow for flow in flows if isinstance(flow, http.HTTPFlow)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_rewritten_flow_is_equal(path: Path) -> None:
    """A flow that mitmproxy reads and writes is equal, except for the version of mitmproxy."""
    flows = flows_of(path)
    with io.BytesIO(packed(map(redact, flows))) as rewritten:
        assert states(FlowReader(rewritten).stream()) == states(flows)
    assert [chunk.data for flow in flows for chunk in chunks_of(flow)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_rewritten_expectation_is_equal(path: Path) -> None:
    """An expectation has the bytes that `extract` writes."""
    saved = expect_path(path).read_text()
    assert dumps(loads(saved, path.name)) == saved


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_flow_meets_its_expectation(path: Path) -> None:
    """A flow has the calls, findings, finish reasons, model, protocol and number of events of its expectation."""
    fixtures = load(path)
    assert len(fixtures) == len(flows_of(path))
    assert differences(read_expectation(expect_path(path)), expectation_of(fixtures)) == []
    assert all(call.complete and not call.guessed for one in fixtures for call in one.record.calls)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_flow_has_a_row_with_its_source(path: Path) -> None:
    """Each flow has one row with all cells in the README of flows."""
    rows = [line for line in (FLOWS / "README.md").read_text().splitlines() if f"`{path.name}`" in line]
    assert len(rows) == 1
    assert all(cell.strip() for cell in rows[0].strip("|").split(" | "))


def is_complete(chunk: bytes) -> bool:
    """Return whether a chunk consists of complete AWS messages with valid checksums."""
    framer = EventStreamFramer()
    frames = [*framer.feed(chunk), *framer.feed(b"")]
    return bool(frames) and not any(frame.trailing or frame.oversize for frame in frames)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_saved_chunks_are_complete_events_in_order(path: Path) -> None:
    """The saved chunks end after events and have increasing times."""
    for flow in flows_of(path):
        assert flow.response
        sizes = flow.metadata["toolstream"]["chunks"]
        assert sum(size for _, size in sizes) == len(flow.response.raw_content or b"")
        times = [after for after, _ in sizes]
        assert times == sorted(times)
        assert times[0] == 0
        if flow.response.headers["content-type"] == MESSAGES:
            assert [chunk.data for chunk in chunks_of(flow) if not is_complete(chunk.data)] == []
            continue
        events = flow.response.headers["content-type"].startswith("text/event-stream")
        ends = BLANK_LINE if events else (b"}", b"}\n", b"]")
        assert [chunk.data for chunk in chunks_of(flow) if not chunk.data.endswith(ends)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_conversation_ends_with_a_text_response(path: Path) -> None:
    """The last response of a conversation has no calls, so a client does not loop."""
    *_, last = load(path)
    assert last.record.calls == []
    assert last.request_key.results > 0


def test_no_flow_contains_a_key() -> None:
    """No flow has a header or parameter for a key."""
    for path in FILES:
        for flow in flows_of(path):
            names = {name.lower() for name in flow.request.headers}
            assert not names & {"authorization", "x-api-key", "x-goog-api-key", "cookie"}
            assert "key=" not in flow.request.path
