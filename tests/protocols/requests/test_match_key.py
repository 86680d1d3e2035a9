from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.protocols.requests.match_key import looks_like_llm, model_of, read
from toolstream_core.wire.frame import Form

KEYS = st.sampled_from(
    [
        "model",
        "messages",
        "input",
        "contents",
        "tools",
        "role",
        "content",
        "parts",
        "type",
        "text",
        "stream",
        "system",
        "functionResponse",
        "function_declarations",
        "functions",
        "name",
        "function",
    ]
)
WORDS = st.sampled_from(["user", "tool", "tool_result", "x_call_output", "text", "m", ""])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=30,
)
HI = [{"role": "user", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}
CHAT = {"model": "m", "messages": HI}


@pytest.mark.parametrize(
    ("path", "request_", "protocol"),
    [
        ("/v1/chat/completions", CHAT, "openai-chat"),
        ("/openai/deployments/d/chat/completions?api-version=1", {"messages": HI}, "openai-chat"),
        ("/v1/responses", {"model": "m", "input": "hi"}, "openai-responses"),
        ("/v1/messages?beta=true", {"model": "m", "max_tokens": 1, "messages": HI}, "anthropic"),
        ("/v1beta/models/g:generateContent", {"contents": []}, "gemini"),
        ("/v1internal:streamGenerateContent", {"model": "m", "request": {"contents": []}}, "gemini"),
        ("/v1beta/interactions", {"model": "m", "input": "hi"}, "gemini-interactions"),
        ("/v1beta1/projects/p/locations/global/interactions", {"agent": "a", "input": []}, "gemini-interactions"),
        ("/v2/chat", CHAT, "cohere-v2"),
        ("/cohere/v2/chat?x=1", CHAT, "cohere-v2"),
        ("/gateway", {**CHAT, "safety_mode": "OFF"}, "cohere-v2"),
        ("/api/chat", {"model": "m", "messages": HI}, "ollama"),
    ],
)
def test_the_protocol_is_that_of_a_known_path(path: str, request_: Any, protocol: str) -> None:
    """A known path determines the protocol, independent of the body."""
    key = read(path, request_)
    assert key
    assert key.protocol == protocol


@pytest.mark.parametrize(
    ("request_", "protocol"),
    [
        (CHAT, "openai-chat"),
        ({**CHAT, "tools": [TOOL]}, "openai-chat"),
        ({**CHAT, "system": "be brief"}, "anthropic"),
        ({**CHAT, "tools": [{"name": "f", "input_schema": {}}]}, "anthropic"),
        ({"anthropic_version": "vertex-2023-10-16", "messages": HI}, "anthropic"),
        ({**CHAT, "options": {"num_ctx": 1}}, "ollama"),
        ({"contents": [{"parts": [{"text": "hi"}]}]}, "gemini"),
        ({"model": "m", "input": "hi", "stream": True}, "openai-responses"),
        ({"model": "m", "input": "hi", "stream": True, "system_instruction": "be brief"}, "gemini-interactions"),
        ({"model": "m", "previous_interaction_id": "v1_1", "continuation_token": "t"}, "gemini-interactions"),
        ({**CHAT, "safety_mode": "NONE"}, "cohere-v2"),
        ({**CHAT, "tools": [TOOL], "citation_options": {"mode": "FAST"}}, "cohere-v2"),
        ({"messages": [{"role": "user", "content": [{"text": "hi"}]}], "toolConfig": {"tools": []}}, "bedrock"),
        ({"messages": [], "inferenceConfig": {"maxTokens": 9}}, "bedrock"),
    ],
)
def test_the_protocol_is_recognised_by_the_body(request_: Any, protocol: str) -> None:
    """On an unknown path, the body determines the protocol."""
    key = read("/gateway/llm", request_)
    assert key
    assert key.protocol == protocol
    assert looks_like_llm("/gateway/llm", request_)


@pytest.mark.parametrize(
    ("path", "request_"),
    [
        ("/v1/embeddings", {"model": "m", "input": "hi"}),
        ("/v1/moderations", {"model": "m", "input": "hi"}),
        ("/gateway/embed", {"model": "m", "input": "hi"}),
        ("/v1/messages/count_tokens", CHAT),
        ("/v1beta/models/g:countTokens", {"contents": []}),
        ("/v1/responses/input_tokens", {"model": "m", "input": "hi", "tools": []}),
        ("/api/chat", {"text": "not a model's chat"}),
        ("/v1/messages", {"to": "+1", "body": "a text message"}),
        ("/anything", {"hello": "world"}),
        ("/api/discord/interactions", {"type": 1, "token": "t"}),
        ("/anything", [1, 2]),
        ("/v1/chat/completions", "text"),
        ("/v1/chat/completions", None),
    ],
)
def test_other_requests_are_not_read(path: str, request_: Any) -> None:
    """Requests for token counts, embeddings or other services have no match key."""
    assert read(path, request_) is None


@pytest.mark.parametrize(
    ("path", "request_", "form"),
    [
        ("/v1/chat/completions", CHAT, Form.WHOLE),
        ("/v1/chat/completions", {**CHAT, "stream": False}, Form.WHOLE),
        ("/v1/chat/completions", {**CHAT, "stream": True}, Form.EVENTS),
        ("/v1/projects/p/models/c:streamRawPredict", {"messages": HI}, Form.EVENTS),
        ("/v1/models/g:generateContent?alt=sse", {"contents": []}, Form.WHOLE),
        ("/v1/models/g:streamGenerateContent?key=k&alt=sse", {"contents": []}, Form.EVENTS),
        ("/v1/models/g:streamGenerateContent", {"contents": []}, Form.ARRAY),
        ("/api/chat", CHAT, Form.LINES),
        ("/api/chat", {**CHAT, "stream": False}, Form.WHOLE),
    ],
)
def test_the_form_of_the_response(path: str, request_: Any, form: Form) -> None:
    """The form of the response is determined by the body, the path, or the API's default."""
    key = read(path, request_)
    assert key
    assert key.form is form


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/v1beta/models/gemini-x:generateContent", "gemini-x"),
        ("/v1/projects/p/publishers/google/models/gemini-x:streamGenerateContent", "gemini-x"),
    ],
)
def test_the_model_is_read_from_the_path(path: str, model: str) -> None:
    """Without a model in the body, the model is read from the path."""
    key = read(path, {"contents": []})
    assert key
    assert key.model == model


def test_the_model_in_the_body_comes_first() -> None:
    """The model of the body takes precedence over a deployment in the path."""
    assert model_of("/openai/deployments/mine/chat/completions", {"model": "m"}) == "m"
    assert model_of("/v1beta/models/gemini-x:generateContent?key=k", {"contents": []}) == "gemini-x"
    assert model_of("/model/us.claude%3A0/invoke", {"messages": HI}) == "us.claude:0"
    assert model_of("/v1/chat/completions", {"messages": HI}) is None


def test_a_model_in_an_azure_path() -> None:
    """In an Azure path, the model is the name of the deployment."""
    key = read("/openai/deployments/mine/chat/completions", {"messages": HI})
    assert key
    assert key.model == "mine"


@pytest.mark.parametrize(
    ("path", "request_", "results"),
    [
        ("/v1/chat/completions", CHAT, 0),
        (
            "/v1/chat/completions",
            {"model": "m", "messages": [*HI, {"role": "tool", "content": ""}, {"role": "function"}]},
            2,
        ),
        (
            "/v1/responses",
            {"model": "m", "input": [{"type": "function_call_output"}, {"type": "custom_tool_call_output"}]},
            2,
        ),
        (
            "/v1/messages",
            {
                "model": "m",
                "messages": [
                    {"role": "user", "content": [{"type": "tool_result"}, {"type": "tool_result"}]},
                    {"role": "user", "content": [{"type": "text", "text": "and?"}]},
                ],
            },
            2,
        ),
        (
            "/v1beta/models/g:generateContent",
            {"contents": [{"parts": [{"functionResponse": {"name": "f"}}, {"function_response": {}}]}]},
            2,
        ),
        ("/api/chat", {"model": "m", "messages": [{"role": "tool"}]}, 1),
    ],
)
def test_the_turn_is_the_number_of_tool_results(path: str, request_: Any, results: int) -> None:
    """The turn is the number of tool results, in each protocol."""
    key = read(path, request_)
    assert key
    assert key.results == results


@pytest.mark.parametrize(
    ("path", "request_"),
    [
        ("/v1/responses", {"model": "m", "input": "last"}),
        (
            "/v1/messages",
            {
                "model": "m",
                "messages": [
                    {"role": "user", "content": "first"},
                    {"role": "user", "content": [{"type": "text", "text": "last"}]},
                    {"role": "assistant", "content": "hm"},
                    {"role": "user", "content": [{"type": "tool_result", "content": "1"}]},
                ],
            },
        ),
        ("/v1/models/g:generateContent", {"contents": [{"role": "user", "parts": [{"text": "last"}]}]}),
    ],
)
def test_the_users_last_words(path: str, request_: Any) -> None:
    """The last text of the user is read, without tool results, which have the role `user` in some protocols."""
    key = read(path, request_)
    assert key
    assert key.words == "last"


def test_the_offered_tools_are_read() -> None:
    """The names of the offered tools are read."""
    key = read("/v1/chat/completions", {**CHAT, "tools": [TOOL]})
    assert key
    assert key.tools == {"f"}


@given(
    st.dictionaries(KEYS, JSON, min_size=2),
    st.sampled_from(["/x", "/v1/responses", "/v1/messages", "/api/chat"]),
)
def test_arbitrary_requests_raise_nothing(request_: Any, path: str) -> None:
    """An arbitrary request raises nothing."""
    key = read(path, request_)
    assert key is None or key.results >= 0
