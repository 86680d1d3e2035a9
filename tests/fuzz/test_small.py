"""The small streams are healthy: nothing is told of them, and repairs pass them as they came."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.case import Case
from tests.fuzz.drive import Outcome
from tests.fuzz.small import STREAMS, drawn


@pytest.mark.parametrize("dialect", STREAMS)
def test_a_small_stream_is_healthy(dialect: str) -> None:
    """Each of forty."""
    for number in range(40):
        seed = drawn([dialect], random.Random(number))
        assert seed is not None
        outcome = Outcome(Case(dialect, seed.body, seed.content_type))
        assert outcome.off.calls
        assert all(complete for _, _, complete in outcome.off.calls)
        assert (outcome.off.names, outcome.on.out) == (set(), seed.body)


def test_no_stream_is_drawn_of_other_protocols() -> None:
    """Those that have none here."""
    assert drawn(["gemini-live", ""], random.Random(1)) is None
