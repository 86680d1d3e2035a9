"""Arguments inside an object that is a complete call, the rest of one, or has one key."""

from __future__ import annotations

import json

import pytest

from tests.invariants.driven import inspected, repaired
from tests.invariants.healthy import WEATHER, Calls, Healthy, streams, with_calls

ARGUMENTS = {"city": 'Oslo }"' * 50}
CALL = {"name": WEATHER.name, "arguments": ARGUMENTS}
FORMS = {
    "complete": json.dumps(CALL),
    "further keys": json.dumps(CALL | {"id": "x", "type": {"a": "function"}}),
    "arguments as text": json.dumps(CALL | {"arguments": json.dumps(ARGUMENTS)}),
    "without its name": f', "arguments": {json.dumps(ARGUMENTS)}}}',
    "under one key": json.dumps({"input": ARGUMENTS}),
    "under one key, as text": json.dumps({"arguments": json.dumps(ARGUMENTS)}),
}
STREAMS = [one for one in streams() if one.name in {"fragments", "fragments of two", "interleaved"}]


@pytest.mark.parametrize("size", [1, 2, 7, 50, 5000])
@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("healthy", STREAMS, ids=str)
def test_the_client_gets_the_inner_arguments_alone(healthy: Healthy, text: str, size: int) -> None:
    """The client receives the inner arguments of an enveloping object, for all forms and fragment sizes."""
    fragments = tuple(text[at : at + size] for at in range(0, len(text), size))
    body = with_calls(healthy, Calls(WEATHER._replace(fragments=fragments))).body
    outcome = repaired(body, healthy.exchange)
    assert outcome.finding_names == ["enveloped-arguments"]
    again = inspected(outcome.out, healthy.exchange)
    assert again.finding_names == []
    assert (WEATHER.name, ARGUMENTS) in again.calls
