"""Valid streams: safe repairs forward the same bytes, and nothing is reported."""

from __future__ import annotations

from tests.grouped import Case, grouped
from tests.invariants.driven import run
from tests.invariants.healthy import CONTENT_TYPES, PATHS, SSE, request
from tests.invariants.valid import AN_ARRAY, REQUESTS, VALID, framings
from toolstream_core.model import StreamFacts
from toolstream_core.settings import NOTHING, SAFE, Settings


@grouped(Case(f"{name}: {protocol}", (protocol, name)) for protocol, streams in VALID.items() for name in streams)
def test_valid_streams_pass_unchanged(protocol: str, name: str) -> None:
    """A valid stream is forwarded unchanged without findings, in every framing."""
    for framing, body in framings(protocol, VALID[protocol][name]):
        content_type = "application/json" if framing == AN_ARRAY else CONTENT_TYPES.get(protocol, SSE)
        offered = request(protocol) | REQUESTS.get(name, {})
        exchange = StreamFacts(path=PATHS[protocol], content_type=content_type, request=offered)
        for settings in (Settings(SAFE), NOTHING):
            outcome = run(body, exchange, settings)
            assert (outcome.finding_names, outcome.record.protocol) == ([], protocol), framing
            assert outcome.out == body, framing
