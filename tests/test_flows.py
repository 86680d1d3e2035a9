"""The saved flows: each has a row in the table, and reads as its expectation says."""

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
    """The states of flows, without the version of mitmproxy that wrote them."""
    return [{**flow.get_state(), "version": 0} for flow in flows]


def flows_of(path: Path) -> list[http.HTTPFlow]:
    """All flows of a file, which hold HTTP only."""
    with path.open("rb") as file:
        flows = list(FlowReader(file).stream())
    return [flow for flow in flows if isinstance(flow, http.HTTPFlow)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_flow_written_again_is_the_same(path: Path) -> None:
    """Every version of mitmproxy reads each field of it and writes it back; the version that it notes is its own."""
    flows = flows_of(path)
    with io.BytesIO(packed(map(redact, flows))) as again:
        assert states(FlowReader(again).stream()) == states(flows)
    assert [chunk.data for flow in flows for chunk in chunks_of(flow)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_expectation_written_again_is_the_same(path: Path) -> None:
    """Byte for byte: what `extract` would write."""
    there = expect_path(path).read_text()
    assert dumps(loads(there, path.name)) == there


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_flow_reads_as_its_expectation_says(path: Path) -> None:
    """Calls, findings, finish reasons, model, protocol, number of events: as written down by hand."""
    fixtures = load(path)
    assert len(fixtures) == len(flows_of(path))
    assert differences(read_expectation(expect_path(path)), expectation_of(fixtures)) == []
    assert all(call.complete and not call.guessed for one in fixtures for call in one.record.calls)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_flow_has_a_row_that_says_where_it_comes_from(path: Path) -> None:
    """One row a file."""
    rows = [line for line in (FLOWS / "README.md").read_text().splitlines() if f"`{path.name}`" in line]
    assert len(rows) == 1
    assert all(cell.strip() for cell in rows[0].strip("|").split(" | "))


def is_complete(chunk: bytes) -> bool:
    """Whether these are whole messages of AWS's, their checksums right."""
    framer = EventStreamFramer()
    frames = [*framer.feed(chunk), *framer.feed(b"")]
    return bool(frames) and not any(frame.trailing or frame.oversize for frame in frames)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_chunks_are_whole_events_and_come_in_time(path: Path) -> None:
    """The table of chunks survived mitmproxy's format: it cuts the body after events, at rising times."""
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
def test_a_conversation_ends_with_a_text_answer(path: Path) -> None:
    """A client that gets its calls and sends their results is not asked to call for ever."""
    *_, last = load(path)
    assert last.record.calls == []
    assert last.request_key.results > 0


def test_no_flow_carries_a_key() -> None:
    """Whatever header or parameter would hold one is not there at all."""
    for path in FILES:
        for flow in flows_of(path):
            names = {name.lower() for name in flow.request.headers}
            assert not names & {"authorization", "x-api-key", "x-goog-api-key", "cookie"}
            assert "key=" not in flow.request.path
