"""Injected truncation and errors, in every protocol with start and end events of calls."""

from __future__ import annotations

import json

import pytest

from tests.invariants.driven import injected, inspected
from tests.invariants.healthy import Healthy, streams

STARTED = [one for one in streams() if one.protocol in {"anthropic", "cohere-v2", "bedrock", "gemini-interactions"}]
WITH_ARGUMENTS = [
    one for one in STARTED if any(json.loads(call.arguments) for call in inspected(one.body, one.exchange).record.calls)
]
with_arguments = pytest.mark.parametrize("healthy", WITH_ARGUMENTS, ids=str)


@with_arguments
def test_nothing_follows_the_truncation(healthy: Healthy) -> None:
    """An injected truncation keeps the bytes before it, shortens one delta, and sends nothing after it."""
    outcome = injected(healthy.body, healthy.exchange, "truncated-stream")
    cut = next(at for at, (one, other) in enumerate(zip(outcome.out, healthy.body, strict=False)) if one != other)
    call = outcome.record.calls[0]
    assert 0 < cut < len(outcome.out) < len(healthy.body)
    assert inspected(healthy.body, healthy.exchange).record.calls[0].arguments[:-1] == call.arguments


@with_arguments
def test_an_injected_error_is_the_last_event(healthy: Healthy) -> None:
    """An injected error is the last event, in the form of the protocol."""
    outcome = injected(healthy.body, healthy.exchange, "in-band-error")
    assert outcome.out.startswith(injected(healthy.body, healthy.exchange, "truncated-stream").out)
    assert "in-band-error" in outcome.finding_names
    assert outcome.record.finish in ([], ["ERROR"])
