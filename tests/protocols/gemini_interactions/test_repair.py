"""Repairs of interactions: what only this protocol's streams have."""

from __future__ import annotations

import json
from typing import Any

from tests.invariants.driven import inspected, repaired
from toolstream_core.model import StreamFacts

EXCHANGE = StreamFacts(
    path="/v1beta/interactions",
    content_type="text/event-stream",
    request={"model": "m", "input": "go", "tools": [{"type": "function", "name": "f"}], "stream": True},
)
HEAD = {"id": "v1_1", "object": "interaction", "model": "m"}
CREATED = {"interaction": {**HEAD, "status": "in_progress"}, "event_type": "interaction.created"}
CALL = [
    {
        "index": 0,
        "step": {"id": "a", "type": "function_call", "name": "f", "arguments": {}},
        "event_type": "step.start",
    },
    {"index": 0, "delta": {"arguments": '{"a":1}', "type": "arguments_delta"}, "event_type": "step.delta"},
    {"index": 0, "event_type": "step.stop"},
]
DONE = b"event: done\ndata: [DONE]\n\n"


def body(*events: Any) -> bytes:
    """A stream of these events."""
    return b"".join(f"event: {one['event_type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)


def completed(status: str) -> dict[str, Any]:
    """The event that ends an interaction."""
    return {"interaction": {**HEAD, "status": status}, "event_type": "interaction.completed"}


def payloads(out: bytes) -> list[Any]:
    """The data of all events but the last one."""
    return [json.loads(line[6:]) for line in out.decode().splitlines() if line.startswith("data: {")]


def test_an_added_end_has_the_id_of_the_interaction() -> None:
    """Clients continue the conversation with it."""
    out = repaired(body(CREATED, *CALL) + DONE, EXCHANGE).out
    last = payloads(out)[-1]
    assert (last["event_type"], last["interaction"]["id"]) == ("interaction.completed", "v1_1")
    assert last["interaction"]["status"] == "requires_action"
    assert out.endswith(DONE)


def test_an_added_done_has_its_event_line() -> None:
    """As the provider sends it; without event lines, clients do not need it."""
    cut = body(CREATED, *CALL, completed("requires_action"))
    assert repaired(cut, EXCHANGE).out == cut + DONE
    bare = b"".join(line + b"\n\n" for line in cut.splitlines() if line.startswith(b"data: "))
    assert repaired(bare, EXCHANGE).out == bare


def test_a_call_that_the_provider_ran_is_not_the_clients() -> None:
    """The status is right, and the call is none that the client runs."""
    result = {"index": 1, "step": {"type": "function_result", "call_id": "a"}, "event_type": "step.start"}
    stop = {"index": 1, "event_type": "step.stop"}
    stream = body(CREATED, *CALL, result, stop, completed("completed")) + DONE
    assert (inspected(stream, EXCHANGE).finding_names, inspected(stream, EXCHANGE).calls) == ([], [])
    assert repaired(stream, EXCHANGE).out == stream


def test_a_call_that_a_limit_cuts_is_not_completed() -> None:
    """The status says that a further request is needed for the rest."""
    half = [CALL[0], {**CALL[1], "delta": {"arguments": '{"a":', "type": "arguments_delta"}}, CALL[2]]
    stream = body(CREATED, *half, completed("requires_continuation")) + DONE
    assert inspected(stream, EXCHANGE).finding_names == ["cut-off-call"]
    assert repaired(stream, EXCHANGE).out == stream
