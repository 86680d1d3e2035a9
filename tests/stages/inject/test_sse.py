"""Event streams broken on purpose."""

from __future__ import annotations

import pytest

from tests.invariants.driven import exchange, injected, inspected
from tests.invariants.healthy import Healthy, streams
from toolstream_core.stages.framing import INJECTORS

SSE = [one for one in streams() if one.exchange.content_type == "text/event-stream"]


@pytest.mark.parametrize("name", INJECTORS)
@pytest.mark.parametrize("healthy", SSE, ids=str)
def test_what_is_planted_is_told_and_nothing_else(healthy: Healthy, name: str) -> None:
    """Readers that go by the standard find the same calls."""
    went = injected(healthy.body, healthy.exchange, name)
    assert went.record.faults[0].changes > 0
    assert went.finding_names == [name]
    assert went.calls == inspected(healthy.body, healthy.exchange).calls


def test_keep_alives_come_before_calls() -> None:
    """Where clients wait longest."""
    healthy = next(one for one in SSE if str(one) == "anthropic, fragments of two")
    blocks = injected(healthy.body, healthy.exchange, "empty-data").out.split(b"\n\n")
    at = blocks.index(b"event: keepalive\ndata:")
    assert b"tool_use" in blocks[at + 1]
    assert blocks.count(b"event: keepalive\ndata:") > 1


def test_a_last_event_that_is_cut_or_followed_by_a_comment_is_left() -> None:
    """There is nothing to take from it."""
    body = SSE[0].body
    for tail in (b": bye\n\n", b"data: [DO"):
        went = injected(body + tail, SSE[0].exchange, "unterminated-event")
        assert (went.out, went.record.faults[0].changes) == (body + tail, 0)


@pytest.mark.parametrize("name", INJECTORS)
def test_json_arrays_are_left(name: str) -> None:
    """They have no blocks."""
    body = b'[{"candidates": [{"content": {"parts": [{"functionCall": {"name": "ping", "args": {}}}]}}]}]'
    went = injected(body, exchange("gemini"), name)
    assert went.out == body
