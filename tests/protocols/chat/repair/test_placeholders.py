"""What becomes of a `{}` that could stand for arguments to come, and is meant."""

from __future__ import annotations

import json

import pytest

from tests.invariants.driven import repaired
from tests.invariants.healthy import Healthy, streams
from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts

LONE = [one for one in streams() if one.name == "without arguments" and b"{}" in one.body]


@pytest.mark.parametrize("healthy", LONE, ids=str)
def test_a_lone_placeholder_is_no_change(healthy: Healthy) -> None:
    """Nobody says what the tool takes, so it waits for the next event, and goes on as it came."""
    went = repaired(healthy.body, StreamFacts(path=healthy.exchange.path, content_type=healthy.exchange.content_type))
    assert went.out == healthy.body
    assert went.finding_names == []
    assert went.record.changed == 0


TOOL = {"name": "look", "parameters": {"type": "object", "properties": {"at": {}}, "required": ["at"]}}
CHAT = StreamFacts(
    path="/v1/chat/completions",
    content_type="text/event-stream",
    request={"tools": [{"type": "function", "function": TOOL}]},
)


def entry(call_id: str, arguments: str, **function: str) -> dict[str, object]:
    """An event with a fragment of the only call."""
    said = {"index": 0, "id": call_id, "type": "function", "function": {**function, "arguments": arguments}}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [said]}}]}


@pytest.mark.parametrize("pieces", [['{"at":1}'], ['{"at"', ":1}"]], ids=["whole", "pieces"])
def test_a_placeholder_is_filled_under_another_id(pieces: list[str]) -> None:
    """The tool needs arguments, so the nameless ones behind `{}` are its own, although the id changes with them."""
    more = [entry(f"call_{at}", text) for at, text in enumerate(pieces)]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    events = [entry("call_a", "{}", name="look"), *more, end]
    body = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in events) + b"data: [DONE]\n\n"
    went = repaired(body, CHAT)
    [call] = went.record.calls
    assert (call.name, call.arguments, call.complete) == ("look", '{"at":1}', True)
    assert "placeholder-arguments" in went.finding_names
    read = read_body([went.out], CHAT)
    assert read is not None
    assert [(one.name, one.arguments) for one in read.calls] == [("look", '{"at":1}')]
