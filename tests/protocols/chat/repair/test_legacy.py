"""Responses with `function_call` to requests with `functions` are valid."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.invariants.driven import inspected, repaired, sse
from toolstream_core.model import StreamFacts

FUNCTIONS = [{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]
REQUEST = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "go"}], "functions": FUNCTIONS}
EXCHANGE = StreamFacts(path="/v1/chat/completions", content_type="text/event-stream", request=REQUEST)


def chunk(delta: dict[str, object], finish: str | None = None, choice: int = 0) -> dict[str, object]:
    """Return a chunk of one choice."""
    one = {"index": choice, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [one]}


def call(choice: int = 0) -> list[dict[str, object]]:
    """Return the events of a call."""
    fragments = [{"name": "get_weather", "arguments": ""}, {"arguments": '{"city":'}, {"arguments": '"Oslo"}'}]
    return [chunk({"function_call": one}, choice=choice) for one in fragments]


@pytest.mark.parametrize("choices", [1, 2])
@pytest.mark.parametrize("finish", ["function_call", "stop"])
def test_a_legacy_call_is_valid(choices: int, finish: str) -> None:
    """A response with a legacy call has no findings, and safe repairs forward it unchanged."""
    events = [event for at in range(choices) for event in [*call(at), chunk({}, finish, at)]]
    body = sse(*events, "[DONE]")
    exchange = replace(EXCHANGE, request={**REQUEST, "n": choices})
    assert inspected(body, exchange).finding_names == []
    assert inspected(body, exchange).calls == [("get_weather", {"city": "Oslo"})] * choices
    assert repaired(body, exchange).out == body
    assert repaired(body, exchange, "missing-calls").out == body


def test_a_finish_reason_without_a_call_is_reported() -> None:
    """A finish reason `function_call` without a call is reported as `missing-calls`."""
    body = sse(chunk({"content": "Hm."}), chunk({}, "function_call"), "[DONE]")
    assert inspected(body, EXCHANGE).finding_names == ["missing-calls"]
