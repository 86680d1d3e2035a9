"""Answers broken around their calls, alike in all protocols that start and end calls with events."""

from __future__ import annotations

import json

import pytest

from tests.invariants.driven import injected, inspected
from tests.invariants.healthy import Healthy, streams

STARTED = [one for one in streams() if one.dialect in {"anthropic", "cohere-v2", "bedrock", "gemini-interactions"}]
WITH_ARGUMENTS = [
    one for one in STARTED if any(json.loads(call.arguments) for call in inspected(one.body, one.exchange).record.calls)
]
with_arguments = pytest.mark.parametrize("healthy", WITH_ARGUMENTS, ids=str)


@with_arguments
def test_nothing_follows_the_place_where_a_stream_is_truncated(healthy: Healthy) -> None:
    """Neither text nor comments; what was sent before it is as it was, but for the delta that is cut."""
    went = injected(healthy.body, healthy.exchange, "truncated-stream")
    cut = next(at for at, (one, other) in enumerate(zip(went.out, healthy.body, strict=False)) if one != other)
    call = went.record.calls[0]
    assert 0 < cut < len(went.out) < len(healthy.body)
    assert inspected(healthy.body, healthy.exchange).record.calls[0].arguments[:-1] == call.arguments


@with_arguments
def test_an_error_is_the_last_that_comes(healthy: Healthy) -> None:
    """In the protocol's own words."""
    went = injected(healthy.body, healthy.exchange, "in-band-error")
    assert went.out.startswith(injected(healthy.body, healthy.exchange, "truncated-stream").out)
    assert "in-band-error" in went.finding_names
    assert went.record.finish in ([], ["ERROR"])
