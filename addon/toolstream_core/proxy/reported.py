"""A response of a flow as bug reports show it. Knows mitmproxy's flow."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from toolstream_core.clients.received import Received, ReceivedBytes
from toolstream_core.report.markdown import ReportedResponse
from toolstream_core.saved.read import as_client_got, turn_of

if TYPE_CHECKING:
    from toolstream_core.report.verdict import ReportedVerdict
    from toolstream_core.saved.flow import Fixture


def reported_response(fixture: Fixture, verdict: ReportedVerdict | None) -> ReportedResponse:
    """Of a response, with the verdict on its client."""
    caused, got = fixture.caused, as_client_got(fixture)
    turn = turn_of(0, got)
    return ReportedResponse(
        record=got.record,
        frames=[event.frame for event in turn.frames],
        entries=Received(ReceivedBytes(turn.exchange, got.body, turn.broken)).entries,
        path=got.path,
        request=got.request,
        status=got.status,
        recorded=datetime.fromtimestamp(fixture.flow.request.timestamp_start, UTC).date().isoformat(),
        caused=caused.specs,
        provider=list(dict.fromkeys(found.name for found in fixture.record.findings)) if got is not fixture else None,
        left=caused.findings if caused.specs else None,
        client="" if verdict is None else verdict.short_text.text.removeprefix("verdict "),
        understood=verdict is None or verdict.verdict.understood,
    )
