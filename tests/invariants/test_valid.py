"""Valid streams: safe repairs forward the same bytes, and nothing is reported."""

from __future__ import annotations

from tests.grouped import Case, grouped
from tests.invariants.driven import run
from tests.invariants.healthy import CONTENT_TYPES, PATHS, SSE, request
from tests.invariants.valid import AN_ARRAY, REQUESTS, VALID, framings
from toolstream_core.model import StreamFacts
from toolstream_core.settings import NOTHING, SAFE, Settings


@grouped(Case(f"{name}: {dialect}", (dialect, name)) for dialect, streams in VALID.items() for name in streams)
def test_valid_streams_pass_unchanged(dialect: str, name: str) -> None:
    """A valid stream is forwarded unchanged without findings, in every framing."""
    for framing, body in framings(dialect, VALID[dialect][name]):
        content_type = "application/json" if framing == AN_ARRAY else CONTENT_TYPES.get(dialect, SSE)
        offered = request(dialect) | REQUESTS.get(name, {})
        exchange = StreamFacts(path=PATHS[dialect], content_type=content_type, request=offered)
        for settings in (Settings(SAFE), NOTHING):
            outcome = run(body, exchange, settings)
            assert (outcome.finding_names, outcome.record.dialect) == ([], dialect), framing
            assert outcome.out == body, framing
