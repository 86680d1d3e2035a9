"""The calls and results in requests of each protocol."""

from __future__ import annotations

from typing import Any

import pytest

from toolstream_core.protocols.requests.conversation import Conversation, ReturnedCall, ToolResult, conversation

CALL, RESULT = ReturnedCall("c1", "ls", '{"p":1}'), ToolResult("c1", "", "done")
OF_STEP = ToolResult("c1", "ls", "done")
CHAT = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "ls", "arguments": '{"p":1}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "done"}]},
]
RESPONSES = [
    {"role": "user", "content": [{"type": "input_text", "text": "go"}]},
    {"type": "function_call", "call_id": "c1", "id": "fc_1", "name": "ls", "arguments": '{"p":1}'},
    {"type": "function_call_output", "call_id": "c1", "output": "done"},
]
ANTHROPIC = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "ls", "input": {"p": 1}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}]},
]
GEMINI = [
    {"role": "user", "parts": [{"text": "go"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {"p": 1}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "done"}}}]},
]
INTERACTIONS = [
    {"type": "user_input", "content": [{"type": "text", "text": "go"}]},
    {"type": "thought", "signature": "c2ln"},
    {"type": "function_call", "id": "c1", "name": "ls", "arguments": {"p": 1}},
    {"type": "function_result", "call_id": "c1", "name": "ls", "result": "done"},
]
_SYSTEM = {"toolUse": {"toolUseId": "s1", "name": "nova_code_interpreter", "input": {}, "type": "server_tool_use"}}
_OF_SYSTEM = {"toolResult": {"toolUseId": "s1", "content": [], "type": "nova_code_interpreter_result"}}
BEDROCK = [
    {"role": "user", "content": [{"text": "go"}]},
    {
        "role": "assistant",
        "content": [_SYSTEM, _OF_SYSTEM, {"toolUse": {"toolUseId": "c1", "name": "ls", "input": {"p": 1}}}],
    },
    {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "done"}]}}]},
]
OLLAMA = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "ls", "arguments": {"p": 1}}}]},
    {"role": "tool", "tool_name": "ls", "content": "done"},
]


@pytest.mark.parametrize(
    ("request_", "call", "result"),
    [
        ({"messages": CHAT}, CALL, RESULT),
        ({"input": RESPONSES}, CALL, RESULT),
        ({"messages": ANTHROPIC}, CALL, RESULT),
        ({"messages": BEDROCK}, CALL, RESULT),
        ({"contents": GEMINI}, ReturnedCall(None, "ls", '{"p":1}'), ToolResult("", "ls", '{"output":"done"}')),
        ({"input": INTERACTIONS}, CALL, OF_STEP),
        ({"input": [*INTERACTIONS[:3], {"type": "user_input", "content": INTERACTIONS[3:]}]}, CALL, OF_STEP),
        ({"messages": OLLAMA}, ReturnedCall(None, "ls", '{"p":1}'), ToolResult("", "ls", "done")),
    ],
)
def test_each_protocol(request_: dict[str, Any], call: ReturnedCall, result: ToolResult) -> None:
    """The call, its result and the user's text are read from a request of each protocol."""
    assert conversation(request_) == Conversation((call,), (result,), ("go",), continues=False)


def test_results_of_a_call() -> None:
    """A call without an id has the results without one, if it is the only call of its tool."""
    requests: list[Any] = [{"messages": CHAT}, {"contents": GEMINI}, {"messages": OLLAMA}]
    for request in requests:
        found = conversation(request)
        assert found.results_of(found.calls[0]) == list(found.results)
    twice = conversation({"contents": [GEMINI[1], *GEMINI[1:]]})
    assert [twice.results_of(call) for call in twice.calls] == [[], []]
    unknown = conversation({"messages": [CHAT[1], {"role": "tool", "tool_call_id": "c2", "content": "done"}]})
    assert unknown.results_of(unknown.calls[0]) == []


def test_other_forms_of_conversations() -> None:
    """Custom calls, legacy calls, results without calls, and requests without a conversation are read."""
    custom = {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "*** Begin"}
    assert conversation({"input": [custom]}).calls == (ReturnedCall("c2", "patch", "*** Begin"),)
    legacy = {"role": "assistant", "function_call": {"name": "ls", "arguments": "{}"}}
    response = {"role": "function", "name": "ls", "content": "x"}
    assert conversation({"messages": [legacy, response]}).calls == (ReturnedCall(None, "ls", "{}"),)
    assert conversation({"messages": [legacy, response]}).results == (ToolResult("", "ls", "x"),)
    assert conversation({"previous_response_id": "resp_1", "input": RESPONSES[2:]}).continues
    stored = conversation({"previous_interaction_id": "v1_1", "input": INTERACTIONS[3:]})
    assert (stored.continues, stored.previous, stored.results) == (True, "v1_1", (ToolResult("c1", "ls", "done"),))
    assert conversation({"input": [{"type": "item_reference", "id": "fc_1"}]}).continues
    odd: Any
    for odd in (
        {"messages": [{"role": "assistant", "tool_calls": [None, 3]}]},
        None,
        [],
        {"messages": "x"},
        {"messages": [None, {"tool_calls": 2, "content": 3}]},
        {"input": 1},
    ):
        assert conversation(odd).calls == ()
