"""Unstreamed responses converted to streams, for every protocol."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.samples import MAKERS
from toolstream_core.engine.session import Session, read_body
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.registry import PROTOCOLS, named
from toolstream_core.protocols.writing import HealthyCall, HealthyResponse
from toolstream_core.wire import json_access
from toolstream_core.wire.body import choose
from toolstream_core.wire.frame import Framer
from toolstream_core.wire.numbers import loads
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.protocols.protocol import WireProtocol


@pytest.mark.parametrize("protocol", MAKERS)
def test_the_stream_has_the_calls_of_the_response(protocol: str) -> None:
    """The stream of an unstreamed response has its calls, an end and no new findings."""
    sample = MAKERS[protocol]("call_1", "Genève")
    events = named(protocol).streamed(sample.unstreamed_response, sample.request)
    exchange = StreamFacts(path=sample.path, content_type=sample.content_type, request=sample.request)
    record = read_body(events, exchange)
    streamed = read_body(sample.chunks, exchange)
    assert record is not None
    assert streamed is not None
    calls, expected = (
        [(call.id, call.name, json.loads(call.arguments), call.complete) for call in one.calls]
        for one in (record, streamed)
    )
    assert calls == expected
    assert record.ended
    assert {finding.name for finding in record.findings} <= {finding.name for finding in streamed.findings}


@pytest.mark.parametrize("protocol", MAKERS)
@pytest.mark.parametrize("response", [None, [], {}, {"error": {"message": "no"}}])
def test_an_error_is_not_converted(protocol: str, response: object) -> None:
    """An error or another body is not converted to a stream."""
    assert named(protocol).streamed(response, {}) == []


def test_text_thoughts_and_usage_are_converted() -> None:
    """The stream of a response has its text, reasoning and usage."""
    message = {"role": "assistant", "content": "Hi", "reasoning_content": "hm"}
    completion = {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {"n": 1}}
    body = b"".join(named("openai-chat").streamed(completion, {"stream_options": {"include_usage": True}}))
    assert b'"reasoning_content":"hm"' in body
    assert b'"usage":{"n":1}' in body
    assert body.endswith(b"data: [DONE]\n\n")
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Hi"}]
    message_body = {"type": "message", "id": "m", "role": "assistant", "content": blocks, "stop_reason": "end_turn"}
    assert b"thinking_delta" in b"".join(named("anthropic").streamed(message_body, {}))
    parts = [{"type": "output_text", "text": "Hi", "annotations": []}]
    output = [{"type": "message", "id": "m", "content": parts}, {"type": "reasoning", "id": "r", "summary": []}]
    response = {"object": "response", "id": "r", "status": "completed", "output": output}
    assert b"response.output_text.delta" in b"".join(named("openai-responses").streamed(response, {}))


def test_numbers_keep_their_text() -> None:
    """Numbers keep their text when arguments are converted from JSON to text."""
    response = loads(
        '{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f",'
        '"input":{"n":1e400,"m":-0.12345678901234567890}}],"stop_reason":"tool_use"}'
    )
    event = json.loads(named("anthropic").streamed(response, {})[2].split(b"data: ")[1])
    assert event["delta"]["partial_json"] == '{"n": 1e400, "m": -0.12345678901234567890}'


ODD: tuple[object, ...] = (None, True, 7, 1.5, "x", "\ud800", [], [None], [[]], ["x"], {}, {"x": []})
"""Values of every type, to replace values of other types."""


def variants(value: object) -> Iterator[object]:
    """Yield `value` with one part replaced by a value of another type, or removed."""
    yield from ODD
    if isinstance(value, dict):
        for key, one in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from ({**value, key: variant} for variant in variants(one))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from ([*value[:at], variant, *value[at + 1 :]] for variant in variants(one))


def healthy(protocol: WireProtocol) -> list[HealthyResponse]:
    """Return responses with text, with calls, and with a custom call."""
    calls = (HealthyCall("f", '{"a": "b"}'), HealthyCall("g", "{}"))
    request = {"model": "m", "messages": [], "stream_options": {"include_usage": True}}
    response = HealthyResponse(model="m", request=request)
    made = [replace(response, calls=calls), replace(response, text="Hi")]
    if protocol.name in {"openai-chat", "openai-responses"}:
        made.append(replace(response, calls=(HealthyCall("f", "x", custom=True),)))
    return made


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda one: one.name)
def test_a_response_with_values_of_any_type_raises_nothing(protocol: WireProtocol) -> None:
    """A response with a value of another type is converted and read without an error."""
    for response in healthy(protocol):
        for body in variants(protocol.healthy_unstreamed(response)):
            assert all(isinstance(event, bytes) for event in protocol.streamed(body, response.request))
            session = Session(StreamFacts(content_type="application/json"))
            session.feed(json.dumps(body).encode())
            session.end()
            session.record()
            assert session.error is None


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda one: one.name)
def test_a_stream_with_values_of_any_type_becomes_a_response(protocol: WireProtocol) -> None:
    """A stream with a value of another type is assembled to a response that is valid JSON."""
    for response in healthy(protocol):
        body = b"".join(protocol.healthy_stream(response))
        record = read_body([body], StreamFacts(content_type=protocol.content_type))
        framer = choose(protocol.content_type, body, ended=True)
        assert record is not None
        assert isinstance(framer, Framer)
        payloads = [one.json for one in framer.feed(body) if isinstance(one.json, dict)]
        for odd in variants(payloads):
            dicts = [payload for payload in json_access.items(odd) if isinstance(payload, dict)]
            assert encoded(protocol.assembled(dicts, record.calls))
