"""A response of a flow as bug reports show it. Knows mitmproxy's flow."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from toolstream_core.clients.received import Answer, Received
from toolstream_core.report.markdown import ReportedAnswer
from toolstream_core.saved.read import as_client_got, turn_of

if TYPE_CHECKING:
    from toolstream_core.report.judging import SavedVerdict
    from toolstream_core.saved.read import Found


def reported_answer(one: Found, verdict: SavedVerdict | None) -> ReportedAnswer:
    """Of a response, with the verdict on its client."""
    caused, got = one.fixture.caused, as_client_got(one)
    fixture = got.fixture
    turn = turn_of(0, fixture)
    return ReportedAnswer(
        record=fixture.record,
        frames=[piece.frame for piece in turn.pieces],
        entries=Received(Answer(turn.exchange, fixture.body, turn.broken)).entries,
        path=fixture.path,
        request=fixture.request,
        status=fixture.status,
        recorded=datetime.fromtimestamp(one.flow.request.timestamp_start, UTC).date().isoformat(),
        caused=caused.specs,
        provider=list(dict.fromkeys(found.name for found in one.fixture.record.findings)) if got is not one else None,
        left=caused.findings if caused.specs else None,
        client="" if verdict is None else verdict.about_client,
        understood=verdict is None or verdict.verdict.understood,
    )
