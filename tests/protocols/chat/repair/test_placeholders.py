"""What becomes of a `{}` that could stand for arguments to come, and is meant."""

from __future__ import annotations

import pytest

from tests.invariants.driven import changed
from tests.invariants.healthy import Healthy, streams
from toolstream_core.model import StreamFacts

LONE = [one for one in streams() if one.name == "without arguments" and b"{}" in one.body]


@pytest.mark.parametrize("healthy", LONE, ids=str)
def test_a_lone_placeholder_is_no_change(healthy: Healthy) -> None:
    """Nobody says what the tool takes, so it waits for the next event, and goes on as it came."""
    went = changed(healthy.body, StreamFacts(path=healthy.exchange.path, content_type=healthy.exchange.content_type))
    assert went.out == healthy.body
    assert went.told == []
    assert went.record.changed == 0
