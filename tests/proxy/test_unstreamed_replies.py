from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy import http
from mitmproxy.test import tflow

from tests.conftest import FLOWS
from toolstream_core.engine.session import read_body
from toolstream_core.model import Call, StreamFacts
from toolstream_core.proxy.provider import assembled
from toolstream_core.saved.flow import LlmFlow, read_flow
from toolstream_core.saved.matching import form_of
from toolstream_core.saved.read import load
from toolstream_core.wire.frame import Form

if TYPE_CHECKING:
    from collections.abc import Sequence

FIXTURES = load(FLOWS)


def file_name(fixture: LlmFlow) -> str:
    return Path(fixture.source).name


def comparable(calls: Sequence[Call]) -> list[tuple[int, str, str, object]]:
    """Return the fields of calls that must be equal; the whitespace of arguments may differ."""
    return [(call.choice, call.id, call.name, json.loads(call.arguments)) for call in calls]


def from_events(*payloads: Any, path: str = "/v1/chat/completions", request: Any = None) -> LlmFlow:
    """Return a fixture of these events."""
    flow = tflow.tflow(resp=True)
    assert flow.response
    body = request or {"model": "m", "messages": [], "stream": True}
    flow.request = http.Request.make("POST", f"https://llm.example.com{path}", json.dumps(body))
    events = "".join(f"data: {json.dumps(payload)}\n\n" for payload in payloads)
    flow.response.headers = http.Headers(content_type="text/event-stream")
    flow.response.raw_content = events.encode()
    fixture = read_flow(flow, "x#0")
    assert fixture
    return fixture


@pytest.mark.parametrize("fixture", FIXTURES, ids=file_name)
def test_an_assembled_response_has_the_model_calls_and_finish_of_its_stream(fixture: LlmFlow) -> None:
    """The assembled response is read back with the same model, calls and finish reason."""
    assembled_body = json.dumps(assembled(fixture)).encode()
    exchange = StreamFacts(path=fixture.path, content_type="application/json", request=fixture.request)
    record = read_body([assembled_body], exchange)
    assert record
    assert not record.streamed
    assert (record.protocol, record.model, record.finish) == (
        fixture.record.protocol,
        fixture.record.model,
        fixture.record.finish,
    )
    assert comparable(record.calls) == comparable(fixture.record.calls)


@pytest.mark.parametrize(
    ("file", "form"),
    [
        ("openai-chat-single", Form.EVENTS),
        ("gemini-single", Form.EVENTS),
        ("gemini-json-array", Form.ARRAY),
        ("ollama-single", Form.LINES),
    ],
)
def test_the_form_of_a_saved_response(file: str, form: Form) -> None:
    """The bytes decide if a protocol has two forms."""
    assert form_of(load(FLOWS / f"{file}.flow")[0]) is form


def test_an_unstreamed_response_is_not_changed() -> None:
    """An unstreamed saved response keeps all fields, including a vendor's own."""
    fixture = load(FLOWS / "openrouter-no-deltas.flow")[1]
    assert form_of(fixture) is Form.WHOLE
    assert assembled(fixture) == json.loads(fixture.body)


def test_chat() -> None:
    """Usage, fingerprint, all choices and vendor fields are kept; obfuscation and deltas are left out."""

    def chunk(*choices: Any, **more: Any) -> Any:
        return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": list(choices), **more}

    fixture = from_events(
        chunk({"index": 0, "delta": {"role": "assistant", "content": "", "reasoning": "th"}}, obfuscation="x"),
        chunk({"index": 0, "delta": {"content": "he", "reasoning": "ink"}, "finish_reason": None}),
        chunk({"index": 1, "delta": {"content": "other"}, "finish_reason": "length"}),
        chunk({"index": 0, "delta": {"content": "llo"}, "finish_reason": "stop"}),
        chunk(usage={"total_tokens": 7}, system_fingerprint="fp"),
    )
    common = {"role": "assistant", "refusal": None}
    assert assembled(fixture) == {
        "id": "c",
        "created": 0,
        "object": "chat.completion",
        "model": "m",
        "usage": {"total_tokens": 7},
        "system_fingerprint": "fp",
        "choices": [
            {
                "index": 0,
                "message": {**common, "content": "hello", "reasoning": "think"},
                "logprobs": None,
                "finish_reason": "stop",
            },
            {"index": 1, "message": {**common, "content": "other"}, "logprobs": None, "finish_reason": "length"},
        ],
    }


def test_a_truncated_chat_response() -> None:
    """No finish reason is added."""
    fixture = from_events({"choices": [{"delta": {"content": "he"}}]})
    [choice] = assembled(fixture)["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("he", None)


def test_responses_with_an_empty_final_output() -> None:
    """Some servers complete with an empty output; the output is then assembled from the streamed items."""
    path = "/v1/responses"
    request = {"model": "m", "input": "hi", "stream": True}
    added = {"type": "function_call", "id": "fc", "call_id": "call", "name": "f"}
    custom = {"type": "custom_tool_call", "id": "ctc", "call_id": "patch", "name": "apply", "input": "*** x"}
    fixture = from_events(
        {"type": "response.created", "response": {"id": "r", "object": "response", "model": "m", "output": []}},
        {"type": "response.output_text.delta", "delta": "he"},
        {"type": "response.output_text.delta", "delta": "llo"},
        {"type": "response.output_item.added", "output_index": 1, "item": added},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "fc", "delta": "{}"},
        {"type": "response.output_item.done", "output_index": 2, "item": custom},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}},
        path=path,
        request=request,
    )
    message, function, patch = assembled(fixture)["output"]
    assert message["content"][0]["text"] == "hello"
    assert (function["type"], function["call_id"], function["arguments"]) == ("function_call", "call", "{}")
    assert (patch["type"], patch["call_id"], patch["input"]) == ("custom_tool_call", "patch", "*** x")


def test_anthropic() -> None:
    """The usage of start and end is merged, text precedes calls, and server tool calls keep their type."""
    block = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    fixture = from_events(
        {"type": "message_start", "message": {"id": "msg", "model": "c", "usage": {"input_tokens": 5}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}},
        {"type": "content_block_start", "index": 1, "content_block": block},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
        path="/v1/messages",
    )
    assert assembled(fixture) == {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "model": "c",
        "content": [{"type": "text", "text": "hello"}, block],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 5, "output_tokens": 7},
    }


def gemini(*candidates: Any) -> LlmFlow:
    """Return a fixture of Gemini's events."""
    payloads = [{"candidates": [candidate], "usageMetadata": {"n": at}} for at, candidate in enumerate(candidates)]
    return from_events(*payloads, path="/v1beta/models/g:streamGenerateContent?alt=sse", request={"contents": []})


def test_gemini() -> None:
    """Texts are joined, signatures stay with their part, and the last usage counts."""
    call = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}
    fixture = gemini(
        {"content": {"parts": [{"text": "th", "thought": True}]}},
        {"content": {"parts": [{"text": "he"}]}},
        {"content": {"parts": [{"text": "llo"}, {"text": ""}]}},
        {"content": {"parts": [call, {"text": "after"}]}, "finishReason": "STOP"},
    )
    parts = [{"text": "th", "thought": True}, {"text": "hello"}, call, {"text": "after"}]
    assert assembled(fixture) == {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {"n": 3},
    }


def test_gemini_partial_arguments() -> None:
    """Streamed arguments become one call."""
    fixture = gemini(
        {"content": {"parts": [{"text": "so"}, {"functionCall": {"name": "f", "willContinue": True}}]}},
        {
            "content": {
                "parts": [
                    {
                        "functionCall": {
                            "partialArgs": [{"jsonPath": "$.city", "stringValue": "Oslo"}],
                            "willContinue": True,
                        }
                    }
                ]
            }
        },
        {"content": {"parts": [{"functionCall": {}}]}, "finishReason": "STOP"},
    )
    [candidate] = assembled(fixture)["candidates"]
    assert candidate["content"]["parts"] == [{"text": "so"}, {"functionCall": {"name": "f", "args": {"city": "Oslo"}}}]


def test_ollama() -> None:
    """The response has one message and the figures of the last line."""
    fixture = load(FLOWS / "ollama-text-then-call.flow")[0]
    response = assembled(fixture)
    assert response["message"]["content"] == "I'll put that on your shopping list."
    [call] = response["message"]["tool_calls"]
    assert call["function"] == {"name": "add_item", "arguments": {"list": "shopping", "item": "oat milk"}}
    last = fixture.payloads[-1]
    assert {**response, "message": None} == {**last, "message": None}
