"""The bug report: what it says, that it fits, and that nothing foreign gets out of its place."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.invariants.driven import injected
from tests.invariants.healthy import streams
from tests.tables import INJECTORS
from toolstream_core.clients.received import Received, ReceivedBytes
from toolstream_core.defects.table import DEFECTS
from toolstream_core.engine.session import read_body
from toolstream_core.protocols.protocol import CallForm
from toolstream_core.protocols.registry import named
from toolstream_core.report import markdown
from toolstream_core.report.markdown import LONGEST, ReportedResponse, bug_report, wrong_readings
from toolstream_core.shrinking.candidate import Chunk, split

if TYPE_CHECKING:
    from tests.invariants.healthy import Healthy
    from toolstream_core.defects.defect import Defect


def reported(body: bytes, healthy: Healthy) -> ReportedResponse:
    """A body as a report shows it."""
    record = read_body([body], healthy.exchange)
    assert record is not None
    frames = [piece.frame for piece in split([Chunk(0, body)], healthy.exchange.content_type)[1]]
    return ReportedResponse(
        record=record,
        frames=frames,
        entries=Received(ReceivedBytes(healthy.exchange, body)).entries,
        path=healthy.exchange.path,
        request=healthy.exchange.request,
        status=200,
        recorded="2026-01-02",
    )


def report(name: str, dialect: str = "openai-chat") -> str:
    """The report on a healthy stream in which a defect was planted."""
    healthy = next(one for one in streams() if one.dialect == dialect)
    return bug_report([reported(injected(healthy.body, healthy.exchange, name).out, healthy)], "small.flow", "1.2.3")


def test_a_report_says_what_is_wrong_where_and_who_fails() -> None:
    """With the offending events as they came, the others folded, and what wrong clients read."""
    text = report("empty-id")
    assert text.startswith("# empty-id: openai-chat from an unknown host\n")
    assert "- **empty-id** (TS102, note" in text
    assert "# event 2\ndata: " in text
    assert "… 3 events like the previous one …" in text
    assert "A client that starts a new call for each `id` reads:" in text
    assert '2. (no name) with `{"ci`' in text
    assert "https://platform.openai.com/docs/api-reference/chat-streaming" in text
    assert "https://github.com/spring-projects/spring-ai/issues/6591" in text or "`toolstream explain empty-id`" in text
    assert "found by | toolstream 1.2.3" in text


def test_a_client_that_goes_by_the_index_is_told_where_indexes_are_reused() -> None:
    """Two calls of one index become one for it."""
    healthy = next(one for one in streams() if one.dialect == "openai-chat" and one.name == "fragments of two")
    text = bug_report([reported(injected(healthy.body, healthy.exchange, "reused-index").out, healthy)], "a.flow", "1")
    assert "A client that matches on the index only reads:" in text


def test_a_healthy_stream_is_reported_too() -> None:
    """A client may misread what is right."""
    healthy = streams()[0]
    text = bug_report([reported(healthy.body, healthy)], "a.flow", "1")
    assert "toolstream found nothing wrong in the stream" in text
    assert "A client that" not in text


@pytest.mark.parametrize("healthy", streams(), ids=str)
def test_healthy_streams_are_read_rightly_by_all_clients(healthy: Healthy) -> None:
    """But for calls whose fragments alternate: those confuse whoever goes by the last id."""
    response = reported(healthy.body, healthy)
    wrong = [does for does, _ in wrong_readings(healthy.dialect, response.entries, response.record.calls)]
    confused = healthy.name == "interleaved"
    announced = named(healthy.dialect).call_form is CallForm.ANNOUNCED
    bug = "adds each fragment to the call that started last" if announced else "starts a new call for each `id`"
    assert wrong == ([bug] if confused else [])


@pytest.mark.parametrize("row", DEFECTS, ids=lambda row: row.name)
def test_every_defect_has_what_a_report_needs(row: Defect) -> None:
    """Its page says why it hurts and where it was seen; its protocols have an address."""
    page = markdown.sections(row)
    assert page["Why it hurts"]
    assert page["Seen with"]
    assert all(markdown.specification(row, dialect) for dialect in row.dialects)


@pytest.mark.parametrize("dialect", INJECTORS)
def test_every_planted_defect_can_be_reported(dialect: str) -> None:
    """Whatever the stream says by then."""
    for name in INJECTORS[dialect]:
        text = report(name, dialect)
        assert len(text) < LONGEST
        assert text.count("<details>") == text.count("</details>") == 1


def test_a_huge_stream_still_fits_into_an_issue() -> None:
    """The whole stream is cut, and says so; fences are closed."""
    healthy = streams()[0]
    words = json.dumps({"choices": [{"index": 0, "delta": {"content": "````" + "x" * 500}}]})
    body = f"data: {words}\n\n".encode() * 500 + healthy.body
    text = bug_report([reported(body, healthy)] * 3, "a.flow", "1")
    assert len(text) < LONGEST
    assert "… the rest is in the attached file" in text
    assert text.rstrip().endswith("</details>")
    fences = re.findall(r"^`{3,}", text, re.MULTILINE)
    assert len(fences) % 2 == 0
