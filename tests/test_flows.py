"""The saved flows: written by the program, told in the table, and read as somebody said they have to be."""

from __future__ import annotations

from pathlib import Path

import pytest
from mitmproxy import http
from mitmproxy.io import FlowReader

import make_flows
from toolstream_core.fixtures import load
from toolstream_core.fixtures.chunks import chunks_of
from toolstream_core.fixtures.expectation import differences, expect_path, expectation_of, read_expectation
from toolstream_core.wire.aws_event_stream import MESSAGES, EventStreamFramer

FLOWS = Path(__file__).resolve().parents[1] / "flows"
FILES = sorted(FLOWS.glob("*.flow"))
BLANK_LINE = (b"\n\n", b"\r\n\r\n")


def flows_of(path: Path) -> list[http.HTTPFlow]:
    """All flows of a file, which hold HTTP only."""
    with path.open("rb") as file:
        flows = list(FlowReader(file).stream())
    return [flow for flow in flows if isinstance(flow, http.HTTPFlow)]


def test_there_is_a_flow_for_every_source_and_no_other() -> None:
    """None is made by hand, none is left from a source that is gone."""
    assert [path.stem for path in FILES] == sorted(path.stem for path in make_flows.SOURCES.glob("*.txt"))


def test_they_are_what_the_program_writes_now() -> None:
    """Twice the same bytes, and what is there differs in nothing that a reader of flows sees."""
    made = make_flows.files()
    assert made == make_flows.files()
    assert list(make_flows.drift(made)) == []


def test_drift_is_told_by_file_and_field(tmp_path: Path) -> None:
    """Whoever broke a flow reads which field of which one."""
    made = make_flows.files()
    source = FLOWS / "glm-5.flow"
    broken = tmp_path / source.name
    broken.write_bytes(source.read_bytes().replace(b"web_search", b"web_seerch"))
    lines = list(make_flows.drift({broken: made[source]}))
    assert [line for line in lines if line.startswith("-#0.response.content") and "web_seerch" in line]
    broken.write_bytes(b"nonsense")
    assert "-not a flow file" in "".join(make_flows.drift({broken: made[source]}))


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


def is_whole(chunk: bytes) -> bool:
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
            assert [chunk.data for chunk in chunks_of(flow) if not is_whole(chunk.data)] == []
            continue
        events = flow.response.headers["content-type"].startswith("text/event-stream")
        ends = BLANK_LINE if events else (b"}", b"}\n", b"]")
        assert [chunk.data for chunk in chunks_of(flow) if not chunk.data.endswith(ends)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_conversation_ends_with_a_text_answer(path: Path) -> None:
    """A client that gets its calls and sends their results is not asked to call for ever."""
    *_, last = load(path)
    assert last.record.calls == []
    assert last.asked.results > 0


def test_no_flow_carries_a_key() -> None:
    """Whatever header or parameter would hold one is not there at all."""
    for path in FILES:
        for flow in flows_of(path):
            names = {name.lower() for name in flow.request.headers}
            assert not names & {"authorization", "x-api-key", "x-goog-api-key", "cookie"}
            assert "key=" not in flow.request.path
