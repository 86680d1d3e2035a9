"""The known patterns from which calls can be told: each reads as the calls that were meant."""

from __future__ import annotations

import json

import pytest

from tests.calls.patterns import Meant, Pattern, patterns
from toolstream_core.engine.session import read_body
from toolstream_core.model import Call, Kind

PATTERNS = patterns()


def _intended(call: Call) -> Meant:
    state = "guessed" if call.guessed else "" if call.kind is Kind.FUNCTION else str(call.kind)
    if call.complete:
        return Meant(call.id, call.name, json.loads(call.arguments), state)
    return Meant(call.id, call.name, call.arguments, "cut")


@pytest.mark.parametrize("step", [1, 1 << 20], ids=["bytewise", "whole"])
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_pattern(pattern: Pattern, step: int) -> None:
    """As meant, also where the wire says it otherwise; what was cut off is never whole."""
    body = pattern.body
    record = read_body((body[at : at + step] for at in range(0, len(body), step)), pattern.exchange)
    assert record is not None
    assert [_intended(call) for call in record.calls] == pattern.calls


def test_patterns_have_names_of_their_own() -> None:
    """So that a failure names one."""
    names = [pattern.name for pattern in PATTERNS]
    assert len(set(names)) == len(names)
