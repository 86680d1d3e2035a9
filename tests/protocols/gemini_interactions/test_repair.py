"""Repairs that are specific to Gemini Interactions."""

from __future__ import annotations

import json
from typing import Any

from tests.invariants.driven import inspected, payloads, repaired
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
    """Return a stream of these events."""
    return b"".join(f"event: {one['event_type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)


def completed(status: str) -> dict[str, Any]:
    """Return the terminal event of an interaction."""
    return {"interaction": {**HEAD, "status": status}, "event_type": "interaction.completed"}


def test_an_added_end_has_the_id_of_the_interaction() -> None:
    """An added terminal event has the id of the interaction, with which clients continue the conversation."""
    out = repaired(body(CREATED, *CALL) + DONE, EXCHANGE).out
    last = payloads(out)[-1]
    assert (last["event_type"], last["interaction"]["id"]) == ("interaction.completed", "v1_1")
    assert last["interaction"]["status"] == "requires_action"
    assert out.endswith(DONE)


def test_an_added_done_has_its_event_line() -> None:
    """An added `[DONE]` has an `event` line; it is not added to a stream without `event` lines."""
    cut = body(CREATED, *CALL, completed("requires_action"))
    assert repaired(cut, EXCHANGE).out == cut + DONE
    bare = b"".join(line + b"\n\n" for line in cut.splitlines() if line.startswith(b"data: "))
    assert repaired(bare, EXCHANGE).out == bare


def test_a_call_with_a_result_is_not_for_the_client() -> None:
    """A call whose result the provider sent is not a call for the client, and the stream is unchanged."""
    result = {"index": 1, "step": {"type": "function_result", "call_id": "a"}, "event_type": "step.start"}
    stop = {"index": 1, "event_type": "step.stop"}
    stream = body(CREATED, *CALL, result, stop, completed("completed")) + DONE
    assert (inspected(stream, EXCHANGE).finding_names, inspected(stream, EXCHANGE).calls) == ([], [])
    assert repaired(stream, EXCHANGE).out == stream


def test_a_call_at_the_token_limit_is_not_completed() -> None:
    """A call that is truncated by the token limit is reported and not completed."""
    incomplete = [CALL[0], {**CALL[1], "delta": {"arguments": '{"a":', "type": "arguments_delta"}}, CALL[2]]
    stream = body(CREATED, *incomplete, completed("requires_continuation")) + DONE
    assert inspected(stream, EXCHANGE).finding_names == ["cut-off-call"]
    assert repaired(stream, EXCHANGE).out == stream
