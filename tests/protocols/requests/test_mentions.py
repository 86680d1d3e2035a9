"""The calls that requests mention."""

from __future__ import annotations

from typing import Any

import pytest

from toolstream_core.protocols.requests.conversation import Mention, mentions, refers_to_kept_calls

CALL, RESULT = Mention("x", call=True, name="f"), Mention("x", call=False, name="")
CHAT: list[Any] = [
    {"role": "assistant", "tool_calls": [{"id": "x", "type": "function", "function": {"name": "f"}}]},
    {"role": "tool", "tool_call_id": "x", "content": "x"},
]
RESPONSES = [
    {"type": "function_call", "id": "fc_1", "call_id": "x", "name": "f", "arguments": '{"id":"x"}'},
    {"type": "function_call_output", "call_id": "x", "output": "x"},
]
CUSTOM = [
    {"type": "custom_tool_call", "call_id": "x", "name": "f", "input": "x"},
    {"type": "custom_tool_call_output", "call_id": "x", "output": "x"},
]
ANTHROPIC = [
    {"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "f", "input": {"id": "x"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "x"}]},
]
BEDROCK: list[Any] = [
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "x", "name": "f", "input": {"id": "x"}}}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "x", "content": [{"json": {"id": "x"}}]}}]},
]
GEMINI = [
    {"role": "model", "parts": [{"functionCall": {"id": "x", "name": "f", "args": {"id": "x"}}}]},
    {"role": "user", "parts": [{"functionResponse": {"id": "x", "name": "f", "response": {"id": "x"}}}]},
]


@pytest.mark.parametrize(
    "request_",
    [
        *({"messages": messages} for messages in (CHAT, ANTHROPIC, BEDROCK)),
        *({"input": items} for items in (RESPONSES, CUSTOM)),
        {"contents": GEMINI},
    ],
)
def test_calls_and_results_are_found(request_: object) -> None:
    """The call and the result are found, and no other objects with an id."""
    assert list(mentions(request_)) == [CALL, RESULT]


@pytest.mark.parametrize(
    "odd", [None, [], "x", {"messages": [None, 3, {"tool_calls": [None, {"id": 7}]}]}, {"input": "x"}]
)
def test_odd_requests_mention_no_calls(odd: object) -> None:
    """A request without a valid conversation mentions no calls."""
    assert not list(mentions(odd))
    assert not refers_to_kept_calls(odd)


@pytest.mark.parametrize(
    "kept",
    [{"previous_response_id": "r"}, {"conversation": {"id": "c"}}, {"input": [{"type": "item_reference", "id": "fc"}]}],
)
def test_stored_calls_are_recognised(kept: object) -> None:
    """A request that refers to calls stored by the server is recognised."""
    assert refers_to_kept_calls(kept)
