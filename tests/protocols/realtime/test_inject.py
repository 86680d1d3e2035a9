"""Faults in the events of the Realtime API."""

import json

from tests.invariants.healthy import over_all_transports
from toolstream_core.engine.session import Session
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.settings import Settings


def test_a_leak_is_injected_into_a_response_without_an_id() -> None:
    """A leak injected into a response without an id adds events without `response_id`."""
    healthy = next(one for one in over_all_transports() if (one.protocol, one.name) == ("openai-realtime", "fragments"))
    *frames, last = healthy.frames
    body = b"".join(frames) + json.dumps({**json.loads(last), "response": None}).encode() + b"\n"
    session = Session(healthy.exchange, Settings(faults=((Fault(name="leaked-code"), Budget(None)),)))
    out = b"".join([*session.feed(body), *session.end()])
    events = [json.loads(line) for line in out.splitlines()]
    assert session.error is None
    assert [event["type"] for event in events if event["type"] == "response.output_text.done"]
    assert not [event for event in events if event["type"] == "response.output_text.done" and "response_id" in event]
