"""The tools, model and streaming of requests, in any protocol."""

from __future__ import annotations

import pytest

from toolstream_core.calls import Parameters
from toolstream_core.model import ABSENT
from toolstream_core.protocols.requests.match_key import looks_like_llm, wants_stream
from toolstream_core.protocols.requests.tools import model_in_body, parameters, schemas

SCHEMA = {"type": "object", "properties": {"a": {}}, "required": ["a"]}


@pytest.mark.parametrize(
    "request_body",
    [
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]},
        {"functions": [{"name": "f", "parameters": SCHEMA}]},
        {"tools": [{"type": "function", "name": "f", "parameters": SCHEMA}]},
        {"tools": [{"name": "f", "input_schema": SCHEMA}]},
        {"tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": SCHEMA}]}]},
        {"request": {"contents": [], "tools": [{"functionDeclarations": [{"name": "f", "parameters": SCHEMA}]}]}},
    ],
)
def test_declared_tools_are_read(request_body: object) -> None:
    """A tool with a required parameter is read from the declaration of each protocol."""
    assert parameters(schemas(request_body)) == {"f": Parameters.of(SCHEMA, "f")}


@pytest.mark.parametrize("foreign", [ABSENT, None, [], {"tools": 3}, {"tools": [None, {"name": 5}, {"function": []}]}])
def test_malformed_declarations_are_ignored(foreign: object) -> None:
    """Malformed declarations declare no tools."""
    assert parameters(schemas(foreign)) == {}


def test_a_tool_without_required_parameters() -> None:
    """A tool without a schema, or without required properties, has no required parameters."""
    assert parameters(schemas({"tools": [{"name": "f"}, {"name": "g", "input_schema": {"required": []}}]})) == {
        "f": Parameters(),
        "g": Parameters(),
    }


def test_the_model_is_read() -> None:
    """The model of the body is read, if it has one."""
    assert model_in_body({"model": "m"}) == "m"
    assert model_in_body({"model": ""}) is None
    assert model_in_body(ABSENT) is None


@pytest.mark.parametrize(
    ("body", "llm"),
    [
        ({"model": "m", "messages": []}, True),
        ({"model": "m", "input": "x"}, True),
        ({"contents": []}, True),
        ({"messages": []}, False),
        ({"model": "m"}, False),
        ([], False),
        (ABSENT, False),
    ],
)
def test_looks_like_llm(body: object, llm: bool) -> None:
    """A body is recognised as an LLM request by its fields."""
    assert looks_like_llm("/anything", body) is llm


@pytest.mark.parametrize(
    ("path", "body", "streams"),
    [
        ("/v1/chat/completions", {"stream": True}, True),
        ("/v1/chat/completions", {"stream": False}, False),
        ("/v1/chat/completions", {}, False),
        ("/v1beta/models/m:streamGenerateContent?alt=sse", {}, True),
        ("/v1beta/models/m:generateContent", {}, False),
        ("/api/chat", {}, True),
        ("/api/chat", {"stream": False}, False),
    ],
)
def test_wants_stream(path: str, body: object, streams: bool) -> None:
    """A stream is requested in the body, in the path, or by default."""
    assert wants_stream(path, body) is streams
