"""Healthy streams of which one event is too large to be read."""

from __future__ import annotations

import pytest

from tests.invariants.driven import repaired
from tests.invariants.healthy import SSE, Healthy, over_all_transports
from toolstream_core.wire.sse import SseFramer

LIMIT = 1 << 14
"""Bytes of one event that are read here: more than any healthy one has."""
HEALTHY = [one for one in over_all_transports() if (one.exchange.content_type or SSE) == SSE]


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_an_unread_event_changes_nothing(healthy: Healthy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Safe repairs forward the same bytes, whichever event it is, and do not report that the calls are missing."""
    monkeypatch.setattr(SseFramer.__init__, "__defaults__", (LIMIT,))
    for at, frame in enumerate(healthy.frames):
        large = b":" + b"x" * LIMIT + b"\n" + frame
        body = b"".join([*healthy.frames[:at], large, *healthy.frames[at + 1 :]])
        outcome = repaired(body, healthy.exchange)
        assert outcome.out == body, frame
        assert "oversize-frame" in outcome.finding_names, frame
        assert "missing-calls" not in outcome.finding_names, frame
