"""Finish reasons of Chat Completions streams with an incomplete call."""

from __future__ import annotations

import pytest

from tests.invariants.driven import injected, repaired
from tests.invariants.healthy import Healthy, streams

NAMES = {"fragments", "fragments of two", "interleaved"}
CHAT = [one for one in streams() if one.protocol == "openai-chat" and one.name in NAMES]


@pytest.mark.parametrize("healthy", CHAT, ids=str)
def test_the_finish_reason_after_an_incomplete_call_is_length(healthy: Healthy) -> None:
    """`tool_calls` after an incomplete call is replaced by `length`, unless the rest of the call follows."""
    cut = injected(healthy.body, healthy.exchange, "cut-off-call")
    assert cut.record.finish == ["tool_calls"]
    fixed = repaired(cut.out, healthy.exchange)
    assert b'"finish_reason":"length"' in fixed.out.replace(b": ", b":")
    assert b'"tool_calls"}' not in fixed.out.replace(b'reason": ', b'reason":').split(b'"finish_reason":"length"')[-1]
    early = injected(healthy.body, healthy.exchange, "early-finish")
    assert b"length" not in repaired(early.out, healthy.exchange).out
