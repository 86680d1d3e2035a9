"""Whole answers as streams: the same calls, healthy, for every protocol."""

from __future__ import annotations

import json

import pytest

from tests.e2e.harness.samples import MAKERS
from toolstream_core.engine.session import read_body
from toolstream_core.model import Exchange
from toolstream_core.protocols.registry import named
from toolstream_core.wire.numbers import loads


@pytest.mark.parametrize("dialect", MAKERS)
def test_the_stream_says_what_the_answer_says(dialect: str) -> None:
    """The calls, ended in order, with nothing wrong."""
    sample = MAKERS[dialect]("call_1", "Genève")
    events = named(dialect).streamed(sample.whole, sample.request)
    exchange = Exchange(path=sample.path, content_type=sample.content_type, request=sample.request)
    record = read_body(events, exchange)
    usual = read_body(sample.pieces, exchange)
    assert record is not None
    assert usual is not None
    told, wanted = (
        [(call.id, call.name, json.loads(call.arguments), call.complete) for call in one.calls]
        for one in (record, usual)
    )
    assert told == wanted
    assert record.ended
    assert {finding.name for finding in record.findings} <= {finding.name for finding in usual.findings}


@pytest.mark.parametrize("dialect", MAKERS)
@pytest.mark.parametrize("answer", [None, [], {}, {"error": {"message": "no"}}])
def test_what_is_no_answer_is_no_stream(dialect: str, answer: object) -> None:
    """An error stays what it is."""
    assert named(dialect).streamed(answer, {}) == []


def test_text_thoughts_and_usage_come_too() -> None:
    """Whatever the message holds."""
    message = {"role": "assistant", "content": "Hi", "reasoning_content": "hm"}
    whole = {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {"n": 1}}
    body = b"".join(named("openai-chat").streamed(whole, {"stream_options": {"include_usage": True}}))
    assert b'"reasoning_content":"hm"' in body
    assert b'"usage":{"n":1}' in body
    assert body.endswith(b"data: [DONE]\n\n")
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Hi"}]
    told = {"type": "message", "id": "m", "role": "assistant", "content": blocks, "stop_reason": "end_turn"}
    assert b"thinking_delta" in b"".join(named("anthropic").streamed(told, {}))
    parts = [{"type": "output_text", "text": "Hi", "annotations": []}]
    output = [{"type": "message", "id": "m", "content": parts}, {"type": "reasoning", "id": "r", "summary": []}]
    response = {"object": "response", "id": "r", "status": "completed", "output": output}
    assert b"response.output_text.delta" in b"".join(named("openai-responses").streamed(response, {}))


def test_numbers_stay_as_they_were_written() -> None:
    """Arguments that were JSON become text."""
    answer = loads(
        '{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f",'
        '"input":{"n":1e400,"m":-0.12345678901234567890}}],"stop_reason":"tool_use"}'
    )
    said = json.loads(named("anthropic").streamed(answer, {})[2].split(b"data: ")[1])
    assert said["delta"]["partial_json"] == '{"n": 1e400, "m": -0.12345678901234567890}'
