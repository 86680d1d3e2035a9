"""How Chat Completions finish when a call is not whole."""

from __future__ import annotations

import pytest

from tests.invariants.driven import injected, repaired
from tests.invariants.healthy import Healthy, streams

NAMES = {"fragments", "fragments of two", "interleaved"}
CHAT = [one for one in streams() if one.dialect == "openai-chat" and one.name in NAMES]


@pytest.mark.parametrize("healthy", CHAT, ids=str)
def test_half_a_call_is_no_finished_one(healthy: Healthy) -> None:
    """The finish that says calls were made says `length`; where more of the call comes behind it, it stays."""
    cut = injected(healthy.body, healthy.exchange, "cut-off-call")
    assert cut.record.finish == ["tool_calls"]
    honest = repaired(cut.out, healthy.exchange)
    assert b'"finish_reason":"length"' in honest.out.replace(b": ", b":")
    assert b'"tool_calls"}' not in honest.out.replace(b'reason": ', b'reason":').split(b'"finish_reason":"length"')[-1]
    early = injected(healthy.body, healthy.exchange, "early-finish")
    assert b"length" not in repaired(early.out, healthy.exchange).out
