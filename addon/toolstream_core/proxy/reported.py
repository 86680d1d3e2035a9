"""A response of a flow as bug reports show it. Knows mitmproxy's flow."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from toolstream_core.engine.session import read_body
from toolstream_core.engine.sink import Sink
from toolstream_core.report.markdown import ReportedAnswer
from toolstream_core.saved.read import as_client_got, turn_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, EventContent, Fragment
    from toolstream_core.report.judging import SavedVerdict
    from toolstream_core.saved.read import Answered


class Fragments(Sink):
    """Keeps the tool-call entries of an answer."""

    live = True
    each = True

    def __init__(self) -> None:
        self.seen: list[Fragment] = []

    def resolved(self, event: Event, said: EventContent, told: Sequence[ResolvedFragment]) -> None:
        self.seen += said.fragments


def reported_answer(one: Answered, verdict: SavedVerdict | None) -> ReportedAnswer:
    """Of a response, with the verdict on its client."""
    caused, got = one.fixture.caused, as_client_got(one)
    fixture = got.fixture
    turn = turn_of(one.number, fixture)
    fragments = Fragments()
    read_body((chunk.data for chunk in turn.chunks), turn.exchange, broken=turn.broken, sinks=[fragments])
    return ReportedAnswer(
        record=fixture.record,
        frames=[piece.frame for piece in turn.pieces],
        fragments=fragments.seen,
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
