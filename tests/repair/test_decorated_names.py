"""A name with other characters around it: its call means what it means under the tool's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.invariants.driven import injected, inspected, repaired
from tests.invariants.healthy import streams
from tests.tables import INJECTORS

if TYPE_CHECKING:
    from tests.invariants.driven import Outcome
    from toolstream_core.model import StreamFacts

FAULT = "decorated-name"
STREAMS = [
    one for one in streams() if FAULT in INJECTORS[one.protocol] and one.name in {"fragments", "fragments of two"}
]
UNDECIDED = frozenset({"repeated-index", "restarted-stream", "split-name"})
"""The fault of names puts another stream there: it joins two entries, is not repaired after a second start, or
decorates the second part of a name."""


@pytest.mark.parametrize("protocol", sorted({one.protocol for one in STREAMS}))
def test_other_defects_of_the_call_are_found_and_repaired_alike(protocol: str) -> None:
    """With any other defect in the stream: the same calls after repair, and the same findings but for the name."""
    compared = 0
    for healthy in (one for one in STREAMS if one.protocol == protocol):
        for fault in INJECTORS[protocol].keys() - {FAULT, *UNDECIDED}:
            plain = injected(healthy.body, healthy.exchange, fault).out
            decorated = injected(healthy.body, healthy.exchange, fault, FAULT).out
            if healthy.body != plain != decorated:
                compared += 1
                usual, outcome = repaired(plain, healthy.exchange), repaired(decorated, healthy.exchange)
                assert _calls(outcome, healthy.exchange) == _calls(usual, healthy.exchange), fault
                assert {*outcome.finding_names} == {*usual.finding_names, FAULT}, fault
    assert compared > len(STREAMS)


def _calls(outcome: Outcome, exchange: StreamFacts) -> list[tuple[str, str, bool]]:
    """Return the calls of the repaired stream."""
    return [(call.name, call.arguments, call.complete) for call in inspected(outcome.out, exchange).record.calls]
