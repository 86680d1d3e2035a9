"""Arguments that hold a complete call, with further keys or without, however they are cut."""

from __future__ import annotations

import json

import pytest

from tests.invariants.driven import changed, seen
from tests.invariants.healthy import WEATHER, Calls, Healthy, streams, with_calls

ARGUMENTS = {"city": 'Oslo }"' * 50}
CALL = {"name": WEATHER.name, "arguments": ARGUMENTS}
STREAMS = [one for one in streams() if one.name in {"fragments", "fragments of two", "interleaved"}]


@pytest.mark.parametrize("size", [1, 2, 7, 50, 5000])
@pytest.mark.parametrize("more", [{}, {"id": "x", "type": {"a": "function"}}], ids=["alone", "further keys"])
@pytest.mark.parametrize("healthy", STREAMS, ids=str)
def test_the_client_gets_the_inner_arguments_alone(healthy: Healthy, more: dict[str, object], size: int) -> None:
    """The event with the complete arguments has them, too."""
    text = json.dumps(CALL | more)
    pieces = tuple(text[at : at + size] for at in range(0, len(text), size))
    body = with_calls(healthy, Calls(WEATHER._replace(pieces=pieces))).body
    repaired = changed(body, healthy.exchange)
    assert repaired.finding_names == ["enveloped-arguments"]
    again = seen(repaired.out, healthy.exchange)
    assert again.finding_names == []
    assert (WEATHER.name, ARGUMENTS) in again.calls
