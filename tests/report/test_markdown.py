"""The bug report: its content, its size, and foreign text in it."""

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
from toolstream_core.model import Chunk
from toolstream_core.protocols.protocol import CallForm
from toolstream_core.protocols.registry import named
from toolstream_core.report import markdown
from toolstream_core.report.markdown import LONGEST, ReportedResponse, bug_report, wrong_readings
from toolstream_core.shrinking.candidate import split

if TYPE_CHECKING:
    from tests.invariants.healthy import Healthy
    from toolstream_core.defects.defect import Defect


def reported(body: bytes, healthy: Healthy) -> ReportedResponse:
    """A body as a reported response."""
    record = read_body([body], healthy.exchange)
    assert record is not None
    frames = [part.frame for part in split([Chunk(0, body)], healthy.exchange.content_type)[1]]
    return ReportedResponse(
        record=record,
        frames=frames,
        entries=Received(ReceivedBytes(healthy.exchange, body)).entries,
        path=healthy.exchange.path,
        request=healthy.exchange.request,
        status=200,
        recorded="2026-01-02",
    )


def report(name: str, protocol: str = "openai-chat") -> str:
    """The report on a valid stream with an injected defect."""
    healthy = next(one for one in streams() if one.protocol == protocol)
    return bug_report([reported(injected(healthy.body, healthy.exchange, name).out, healthy)], "small.flow", "1.2.3")


def test_a_report_shows_the_defect_its_events_and_failing_clients() -> None:
    """Events with findings are unchanged, and others are folded."""
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


def test_a_report_on_a_reused_index_shows_clients_that_key_by_index() -> None:
    """They merge the calls of an index."""
    healthy = next(one for one in streams() if one.protocol == "openai-chat" and one.name == "fragments of two")
    text = bug_report([reported(injected(healthy.body, healthy.exchange, "reused-index").out, healthy)], "a.flow", "1")
    assert "A client that matches on the index only reads:" in text


def test_a_valid_stream_can_be_reported() -> None:
    """A client may misread it."""
    healthy = streams()[0]
    text = bug_report([reported(healthy.body, healthy)], "a.flow", "1")
    assert "toolstream found nothing wrong in the stream" in text
    assert "A client that" not in text


@pytest.mark.parametrize("healthy", streams(), ids=str)
def test_valid_streams_are_read_correctly_by_the_shown_clients(healthy: Healthy) -> None:
    """The exception are interleaved calls, which confuse clients that key by id or use the last call."""
    response = reported(healthy.body, healthy)
    wrong = [
        what_it_does for what_it_does, _ in wrong_readings(healthy.protocol, response.entries, response.record.calls)
    ]
    confused = healthy.name == "interleaved"
    announced = named(healthy.protocol).call_form is CallForm.ANNOUNCED
    bug = "adds each fragment to the call that started last" if announced else "starts a new call for each `id`"
    assert wrong == ([bug] if confused else [])


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_every_defect_has_what_a_report_needs(defect: Defect) -> None:
    """Its page has its consequences and where it was seen, and its protocols have an address."""
    page = markdown.sections(defect)
    assert page["Why it hurts"]
    assert page["Seen with"]
    assert all(markdown.specification(defect, protocol) for protocol in defect.protocols)


@pytest.mark.parametrize("protocol", INJECTORS)
def test_every_injected_defect_can_be_reported(protocol: str) -> None:
    """The report is complete and fits an issue."""
    for name in INJECTORS[protocol]:
        text = report(name, protocol)
        assert len(text) < LONGEST
        assert text.count("<details>") == text.count("</details>") == 1


def test_a_report_on_a_large_stream_fits_into_an_issue() -> None:
    """The stream is truncated with a note, and code fences are closed."""
    healthy = streams()[0]
    words = json.dumps({"choices": [{"index": 0, "delta": {"content": "````" + "x" * 500}}]})
    body = f"data: {words}\n\n".encode() * 500 + healthy.body
    text = bug_report([reported(body, healthy)] * 3, "a.flow", "1")
    assert len(text) < LONGEST
    assert "… the rest is in the attached file" in text
    assert text.rstrip().endswith("</details>")
    fences = re.findall(r"^`{3,}", text, re.MULTILINE)
    assert len(fences) % 2 == 0
