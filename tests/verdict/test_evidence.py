"""What results show about their calls: a table of results, and the error marks of each protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolstream_core.protocols.registry import named
from toolstream_core.protocols.requests.conversation import ToolResult
from toolstream_core.verdict.judge import KnownResult, Sign, evidence

RESULTS = [json.loads(line) for line in Path(__file__).with_name("results.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("sample", RESULTS, ids=lambda sample: f"{sample['sign']}: {sample['what']}")
def test_the_sign_of_a_result(sample: dict[str, Any]) -> None:
    """`results.jsonl` has the sign, a description, the text, and known results of the healthy run."""
    known = [KnownResult("t", arguments, text) for arguments, text in sample.get("known", ())]
    found = evidence(ToolResult("c1", "", sample["text"]), known)
    assert found.sign is Sign[sample["sign"].upper()]
    assert found.why


def chat(**more: Any) -> dict[str, Any]:
    """A result of Chat Completions and Ollama."""
    return {"messages": [{"role": "tool", "tool_call_id": "c1", "content": "x", **more}]}


def anthropic(**more: Any) -> dict[str, Any]:
    """A result of Messages."""
    block = {"type": "tool_result", "tool_use_id": "c1", "content": "x", **more}
    return {"messages": [{"role": "user", "content": [block]}]}


def responses(**more: Any) -> dict[str, Any]:
    """A result of Responses."""
    return {"input": [{"type": "function_call_output", "call_id": "c1", "output": "x", **more}]}


def gemini(**response: Any) -> dict[str, Any]:
    """A result of Gemini."""
    part = {"functionResponse": {"id": "c1", "name": "t", "response": response}}
    return {"contents": [{"role": "user", "parts": [part]}]}


def bedrock(**more: Any) -> dict[str, Any]:
    """A result of Converse."""
    result = {"toolUseId": "c1", "content": [{"text": "x"}], **more}
    return {"messages": [{"role": "user", "content": [{"toolResult": result}]}]}


@pytest.mark.parametrize(
    ("protocol", "request_body", "marked"),
    [
        ("openai-chat", chat(), False),
        ("openai-chat", chat(status="error"), True),
        ("openai-chat", chat(content='{"error":"no"}'), True),
        ("ollama", chat(is_error=True), True),
        ("anthropic", anthropic(), False),
        ("anthropic", anthropic(is_error=False), False),
        ("anthropic", anthropic(is_error=True), True),
        ("anthropic", anthropic(content=[{"type": "text", "text": "<tool_use_error>no</tool_use_error>"}]), True),
        ("openai-responses", responses(), False),
        ("openai-responses", responses(status="completed"), False),
        ("openai-responses", responses(status="incomplete"), True),
        ("openai-responses", responses(success=False), True),
        ("openai-responses", responses(output=[{"type": "input_text", "text": "Exit code: 1"}]), True),
        ("gemini", gemini(output="x"), False),
        ("gemini", gemini(error="no"), True),
        ("bedrock", bedrock(), False),
        ("bedrock", bedrock(status="success"), False),
        ("bedrock", bedrock(status="error"), True),
        ("cohere-v2", chat(content=[{"type": "document", "document": {"data": '{"error":"no"}'}}]), True),
    ],
)
def test_a_protocol_marks_errors(protocol: str, request_body: dict[str, Any], *, marked: bool) -> None:
    """A marked result is a rejection. Without a mark, the text decides."""
    [result] = named(protocol).api.conversation(request_body).results
    assert (evidence(result).sign is Sign.REJECTED) == marked


@pytest.mark.parametrize(
    "text", ["{" * 5000, "[" * 100_000 + "]" * 100_000, '{"a":' * 900 + "1" + "}" * 900, "a" * 10**6]
)
def test_any_text_is_allowed(text: str) -> None:
    """It may be deeply nested or long, and is compared with known results."""
    assert evidence(ToolResult("c1", "", text)).sign is Sign.UNKNOWN
    assert evidence(ToolResult("c1", "", text), [KnownResult("t", '{"p":"x"}', "x is done")]).sign is Sign.REJECTED
    assert evidence(ToolResult("c1", "", text), [KnownResult("t", "{}", text)]).sign is Sign.ACCEPTED
