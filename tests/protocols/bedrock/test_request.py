"""Requests of Converse: tools, form and conversation."""

from __future__ import annotations

from typing import Any

import pytest

from toolstream_core.calls import Parameters
from toolstream_core.protocols.bedrock.api import BedrockApi
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.protocols.requests import conversation, match_key, tools
from toolstream_core.wire.frame import Form

SCHEMA = {"type": "object", "required": ["a"]}
REQUEST: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": [{"text": "Go on."}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "f", "input": {"a": 1}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": [{"json": {"b": 2}}]}}]},
    ],
    "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": SCHEMA}}}, {"cachePoint": {}}]},
}


@pytest.mark.parametrize(
    ("path", "name", "form"),
    [
        ("/model/us.anthropic.claude%3A0/converse-stream", "bedrock", Form.MESSAGES),
        ("/model/arn%3Aaws%3Abedrock%2Fx/converse", "bedrock", Form.WHOLE),
        ("/model/us.amazon.nova-lite-v1%3A0/invoke-with-response-stream", "bedrock", Form.MESSAGES),
        ("/model/anthropic.claude/invoke-with-response-stream", "anthropic", Form.MESSAGES),
        ("/elsewhere", "bedrock", Form.WHOLE),
    ],
)
def test_the_protocol_and_form_of_a_request(path: str, name: str, form: Form) -> None:
    """Protocol and form are determined by the path, or by fields that only Converse has."""
    found = match_key.read(path, REQUEST)
    assert found is not None
    assert (found.protocol, found.form) == (name, form)
    assert len([one for one in PROTOCOLS if one.claims(path)]) == int(path.startswith("/model"))


def test_tools_and_conversation_are_read() -> None:
    """Tools, model, turn, calls and results of a request are read."""
    reader = BedrockApi()
    assert tools.schemas(REQUEST) == {"f": SCHEMA}
    assert tools.parameters({"f": SCHEMA}) == {"f": Parameters.of(SCHEMA, "f")}
    assert reader.model("/v/model/us.claude%3A0/converse?x=1", REQUEST) == "us.claude:0"
    assert (conversation.results(REQUEST), conversation.words(REQUEST)) == (1, "Go on.")
    assert conversation.earlier_ids(REQUEST) == {"t"}
    read = reader.conversation(REQUEST)
    assert [(call.id, call.name, call.arguments) for call in read.calls] == [("t", "f", '{"a":1}')]
    assert [(result.id, result.text) for result in read.results] == [("t", '{"b":2}')]


@pytest.mark.parametrize("odd", [None, [], {"messages": 5}, {"messages": [5, {"content": 5}, {"content": [5]}]}])
def test_odd_requests_raise_nothing(odd: Any) -> None:
    """An odd request has no tools and no calls."""
    reader = BedrockApi()
    assert tools.schemas(odd) == {}
    assert reader.conversation(odd).calls == ()


def test_the_path_of_the_unstreamed_response() -> None:
    """The path of the unstreamed operation keeps the query."""
    reader = BedrockApi()
    assert reader.unstreamed_path("/model/m/converse-stream?a=1") == "/model/m/converse?a=1"
    assert reader.unstreamed_path("/model/m/converse") == "/model/m/converse"
    assert reader.unstreamed(REQUEST) == REQUEST
