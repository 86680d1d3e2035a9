"""Empty objects that may be placeholders for arguments."""

from __future__ import annotations

import json

import pytest

from tests.invariants.driven import repaired
from tests.invariants.healthy import Healthy, streams
from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts

LONE = [one for one in streams() if one.name == "without arguments" and b"{}" in one.body]


@pytest.mark.parametrize("healthy", LONE, ids=str)
def test_a_lone_empty_object_is_forwarded_unchanged(healthy: Healthy) -> None:
    """A `{}` without arguments after it is held for an event and forwarded unchanged, if the tool is unknown."""
    outcome = repaired(
        healthy.body, StreamFacts(path=healthy.exchange.path, content_type=healthy.exchange.content_type)
    )
    assert outcome.out == healthy.body
    assert outcome.finding_names == []
    assert outcome.record.changed == 0


TOOL = {"name": "look", "parameters": {"type": "object", "properties": {"at": {}}, "required": ["at"]}}
CHAT = StreamFacts(
    path="/v1/chat/completions",
    content_type="text/event-stream",
    request={"tools": [{"type": "function", "function": TOOL}]},
)


def entry(call_id: str, arguments: str, **function: str) -> dict[str, object]:
    """Return a chunk with a fragment of the only call."""
    call = {"index": 0, "id": call_id, "type": "function", "function": {**function, "arguments": arguments}}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}


@pytest.mark.parametrize("fragments", [['{"at":1}'], ['{"at"', ":1}"]], ids=["one fragment", "two fragments"])
def test_a_placeholder_is_filled_under_another_id(fragments: list[str]) -> None:
    """Arguments after `{}` without a name belong to a call that needs arguments, even with another id."""
    more = [entry(f"call_{at}", text) for at, text in enumerate(fragments)]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    events = [entry("call_a", "{}", name="look"), *more, end]
    body = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in events) + b"data: [DONE]\n\n"
    outcome = repaired(body, CHAT)
    [call] = outcome.record.calls
    assert (call.name, call.arguments, call.complete) == ("look", '{"at":1}', True)
    assert "placeholder-arguments" in outcome.finding_names
    read = read_body([outcome.out], CHAT)
    assert read is not None
    assert [(one.name, one.arguments) for one in read.calls] == [("look", '{"at":1}')]
