"""Healthy streams of which one event is too large to be read."""

from __future__ import annotations

import pytest

from tests.invariants.driven import repaired
from tests.invariants.healthy import SSE, Healthy, over_all_transports
from toolstream_core.wire.sse import SseFramer

LIMIT = 1 << 14
"""The limit of the size of an event in these tests; no healthy event is as large."""
HEALTHY = [one for one in over_all_transports() if (one.exchange.content_type or SSE) == SSE]


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_an_unread_event_changes_nothing(healthy: Healthy, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that is too large to be read is reported; the body is forwarded unchanged, without `missing-calls`."""
    monkeypatch.setattr(SseFramer.__init__, "__defaults__", (LIMIT,))
    for at, frame in enumerate(healthy.frames):
        large = b":" + b"x" * LIMIT + b"\n" + frame
        body = b"".join([*healthy.frames[:at], large, *healthy.frames[at + 1 :]])
        outcome = repaired(body, healthy.exchange)
        assert outcome.out == body, frame
        assert "oversize-frame" in outcome.finding_names, frame
        assert "missing-calls" not in outcome.finding_names, frame
