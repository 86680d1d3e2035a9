"""Whole answers as streams: the same calls, healthy, for every protocol."""

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
from toolstream_core.wire.frame import Cutter
from toolstream_core.wire.numbers import loads
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.protocols.protocol import WireProtocol


@pytest.mark.parametrize("dialect", MAKERS)
def test_the_stream_says_what_the_answer_says(dialect: str) -> None:
    """The calls, ended in order, with nothing wrong."""
    sample = MAKERS[dialect]("call_1", "Genève")
    events = named(dialect).streamed(sample.unstreamed_response, sample.request)
    exchange = StreamFacts(path=sample.path, content_type=sample.content_type, request=sample.request)
    record = read_body(events, exchange)
    usual = read_body(sample.chunks, exchange)
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
@pytest.mark.parametrize("response", [None, [], {}, {"error": {"message": "no"}}])
def test_what_is_no_answer_is_no_stream(dialect: str, response: object) -> None:
    """An error stays what it is."""
    assert named(dialect).streamed(response, {}) == []


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
    response = loads(
        '{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f",'
        '"input":{"n":1e400,"m":-0.12345678901234567890}}],"stop_reason":"tool_use"}'
    )
    said = json.loads(named("anthropic").streamed(response, {})[2].split(b"data: ")[1])
    assert said["delta"]["partial_json"] == '{"n": 1e400, "m": -0.12345678901234567890}'


ODD: tuple[object, ...] = (None, True, 7, 1.5, "x", "\ud800", [], [None], [[]], ["x"], {}, {"x": []})
"""Values of every type, to stand where a protocol says another."""


def variants(value: object) -> Iterator[object]:
    """`value` with one thing in it replaced by a value of another type, or taken away."""
    yield from ODD
    if isinstance(value, dict):
        for key, one in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from ({**value, key: variant} for variant in variants(one))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from ([*value[:at], variant, *value[at + 1 :]] for variant in variants(one))


def healthy(protocol: WireProtocol) -> list[HealthyResponse]:
    """Responses of a text, of calls, and of a custom tool's call."""
    calls = (HealthyCall("f", '{"a": "b"}'), HealthyCall("g", "{}"))
    request = {"model": "m", "messages": [], "stream_options": {"include_usage": True}}
    response = HealthyResponse(model="m", request=request)
    made = [replace(response, calls=calls), replace(response, text="Hi")]
    if protocol.name in {"openai-chat", "openai-responses"}:
        made.append(replace(response, calls=(HealthyCall("f", "x", custom=True),)))
    return made


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda one: one.name)
def test_a_response_with_values_of_any_type_raises_nothing(protocol: WireProtocol) -> None:
    """Neither where it becomes a stream nor where it is read."""
    for response in healthy(protocol):
        for whole in variants(protocol.healthy_unstreamed(response)):
            assert all(isinstance(event, bytes) for event in protocol.streamed(whole, response.request))
            session = Session(StreamFacts(content_type="application/json"))
            session.feed(json.dumps(whole).encode())
            session.end()
            session.record()
            assert session.error is None


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda one: one.name)
def test_a_stream_with_values_of_any_type_becomes_a_response(protocol: WireProtocol) -> None:
    """JSON, whatever the stream holds."""
    for response in healthy(protocol):
        body = b"".join(protocol.healthy_stream(response))
        record = read_body([body], StreamFacts(content_type=protocol.content_type))
        framer = choose(protocol.content_type, body, ended=True)
        assert record is not None
        assert isinstance(framer, Cutter)
        payloads = [one.json for one in framer.feed(body) if isinstance(one.json, dict)]
        for odd in variants(payloads):
            said = [payload for payload in json_access.items(odd) if isinstance(payload, dict)]
            assert encoded(protocol.assembled(said, record.calls))
