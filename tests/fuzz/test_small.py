"""The small streams are healthy."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.case import Case
from tests.fuzz.drive import Outcome
from tests.fuzz.small import STREAMS, drawn


@pytest.mark.parametrize("protocol", STREAMS)
def test_a_small_stream_is_healthy(protocol: str) -> None:
    """A small stream has complete calls and no findings, and safe repairs forward it unchanged."""
    for number in range(40):
        seed = drawn([protocol], random.Random(number))
        assert seed is not None
        outcome = Outcome(Case(protocol, seed.body, seed.content_type))
        assert outcome.off.calls
        assert all(complete for _, _, complete in outcome.off.calls)
        assert (outcome.off.finding_names, outcome.on.out) == (set(), seed.body)


def test_other_protocols_have_no_small_streams() -> None:
    """For a protocol without small streams, `drawn` returns `None`."""
    assert drawn(["gemini-live", ""], random.Random(1)) is None
