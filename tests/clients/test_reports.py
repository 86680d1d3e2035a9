"""The five bug reports: each client fails, the failure is explained, and the advised option helps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.clients.streams import echoed
from tests.e2e.clients.conversation import DONE, CrashError, events, tools
from tests.e2e.clients.reports import REPORTS, Reported
from tests.e2e.clients.streams import saved
from toolstream_core.clients.explanation import Explainer
from toolstream_core.clients.model import STANDARD
from toolstream_core.clients.received import Received, ReceivedBytes, repair
from toolstream_core.clients.stepping import reads
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.registry import claiming
from toolstream_core.report.judging import Explaining
from toolstream_core.report.lines import help_with
from toolstream_core.settings import Words, settings

if TYPE_CHECKING:
    from toolstream_core.model import Call

READ = [report for report in REPORTS if report.model is not None]


def response(report: Reported) -> ReceivedBytes:
    """The saved stream of a report."""
    first = saved(report.flow)[0]
    return ReceivedBytes(
        StreamFacts(path=first.path, content_type="text/event-stream", request=first.request), first.body
    )


def runs(report: Reported, body: bytes) -> bool:
    """Whether the client runs the intended calls with all their arguments."""
    wanted = [(call.name, json.loads(call.arguments)) for call in intended_calls(report)]
    offered = tools(saved(report.flow)[0].request)
    try:
        calls = report.client.assemble(events(body))
        results = [report.client.run(call, offered) for call in calls]
    except CrashError:
        return False
    made = [(call.name, json.loads(call.arguments or "{}")) for call in calls if call.name]
    return made == wanted and {*results} == {DONE}


def intended_calls(report: Reported) -> list[Call]:
    """The calls of the saved stream, or of the saved non-streaming response."""
    return [call for one in saved(report.flow) for call in one.record.calls]


def helped(report: Reported) -> ReceivedBytes:
    """The stream with the advised option. `unstreamed` requests are served from the saved non-streaming response."""
    name, value = report.words
    if report.model is None:
        first, complete = saved(report.flow)[:2]
        protocol = claiming(first.path)
        assert protocol is not None
        return ReceivedBytes(StreamFacts(), b"".join(protocol.streamed(json.loads(complete.body), first.request)))
    words = Words(repair=[value]) if name == "repair" else Words(shape=[value])
    made = repair(response(report), settings(words)).response
    assert made is not None
    return made


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.key)
def test_the_client_fails_and_works_with_the_advice(report: Reported) -> None:
    """The client runs the intended calls only with the advised option."""
    assert not runs(report, response(report).body)
    assert runs(report, helped(report).body)


@pytest.mark.parametrize("report", READ, ids=lambda report: report.key)
def test_the_model_of_the_client_is_the_explanation(report: Reported) -> None:
    """The model, or one that reads the stream alike, explains the calls, and the advice is that of the report."""
    assert report.model is not None
    got = Received(response(report))
    assert got.protocol is not None
    calls = reads(report.model, got.protocol.call_form, got.entries)
    echo = echoed(*(one[:3] for one in calls))
    found = Explainer().explain_response(response(report), echo)
    assert found is not None
    assert report.model in (found.model, *found.others)
    assert STANDARD not in (found.model, *found.others)
    assert Explaining()(response(report), echo).advice[0] == report.advice


def test_missing_calls_are_a_finding_with_advice() -> None:
    """No model explains the failure, because the stream has no call."""
    [report] = [one for one in REPORTS if one.model is None]
    [finding] = Received(response(report)).record.findings  # type: ignore[union-attr]  # it was read
    assert (finding.name, help_with(finding)) == ("missing-calls", f"{report.advice} (unsafe)")


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.key)
def test_the_defect_can_be_injected_into_a_valid_stream(report: Reported) -> None:
    """The client then fails in the same way."""
    path = saved(report.flow)[0].path
    flow = "openai-responses-single" if path.endswith("/responses") else "openai-chat-single"
    healthy = report._replace(flow=flow)
    faulty = repair(response(healthy), settings(Words(fault=[report.fault]))).response
    assert faulty is not None
    assert faulty.body != response(healthy).body
    assert not runs(healthy, faulty.body)
