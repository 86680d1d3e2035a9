"""Injected framing defects."""

from __future__ import annotations

import pytest

from tests.invariants.driven import exchange, injected, inspected
from tests.invariants.healthy import Healthy, streams
from toolstream_core.stages.framing import INJECTORS

SSE = [one for one in streams() if one.exchange.content_type == "text/event-stream"]


@pytest.mark.parametrize("name", INJECTORS)
@pytest.mark.parametrize("healthy", SSE, ids=str)
def test_an_injected_framing_defect_is_the_only_finding(healthy: Healthy, name: str) -> None:
    """An injected framing defect is the only finding, and the calls are the same."""
    outcome = injected(healthy.body, healthy.exchange, name)
    assert outcome.record.faults[0].changes > 0
    assert outcome.finding_names == [name]
    assert outcome.calls == inspected(healthy.body, healthy.exchange).calls


def test_keep_alives_are_injected_before_calls() -> None:
    """Empty keep-alive events are injected before calls."""
    healthy = next(one for one in SSE if str(one) == "anthropic, fragments of two")
    blocks = injected(healthy.body, healthy.exchange, "empty-data").out.split(b"\n\n")
    at = blocks.index(b"event: keepalive\ndata:")
    assert b"tool_use" in blocks[at + 1]
    assert blocks.count(b"event: keepalive\ndata:") > 1


def test_a_truncated_end_is_not_changed() -> None:
    """`unterminated-event` does not change a stream that ends with a comment or a truncated event."""
    body = SSE[0].body
    for tail in (b": bye\n\n", b"data: [DO"):
        outcome = injected(body + tail, SSE[0].exchange, "unterminated-event")
        assert (outcome.out, outcome.record.faults[0].changes) == (body + tail, 0)


@pytest.mark.parametrize("name", INJECTORS)
def test_json_arrays_are_not_changed(name: str) -> None:
    """Framing defects do not change JSON arrays."""
    body = b'[{"candidates": [{"content": {"parts": [{"functionCall": {"name": "ping", "args": {}}}]}}]}]'
    outcome = injected(body, exchange("gemini"), name)
    assert outcome.out == body
