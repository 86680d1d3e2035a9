"""Conversion between Converse's unstreamed responses and streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.bedrock.messages import body, decoded, run
from toolstream_core.protocols.registry import named
from toolstream_core.wire.aws_event_stream import EventStreamFramer

USAGE = {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}
CONTENT: list[dict[str, Any]] = [
    {"reasoningContent": {"reasoningText": {"text": "Which one?", "signature": "c2ln"}}},
    {"reasoningContent": {"redactedContent": "aGlkZGVu"}},
    {"text": "Let me look. "},
    {"text": "Both."},
    {"toolUse": {"toolUseId": "t1", "name": "f", "input": {"a": 1e2, "b": ["x"]}}},
    {"toolUse": {"toolUseId": "t2", "name": "g", "input": {}}},
]
RESPONSE: dict[str, Any] = {
    "output": {"message": {"role": "assistant", "content": CONTENT}},
    "stopReason": "tool_use",
    "usage": USAGE,
    "metrics": {"latencyMs": 7},
    "additionalModelResponseFields": {"stop_sequence": "x"},
}
BEDROCK = named("bedrock")


def assembled(raw: bytes) -> Any:
    """Return the unstreamed response of a stream."""
    framer = EventStreamFramer()
    frames = [*framer.feed(raw), *framer.feed(b"")]
    payloads = [frame.json for frame in frames if isinstance(frame.json, dict)]
    return BEDROCK.assembled(payloads, run(raw)[1].calls)


def test_a_response_is_converted_to_a_stream_and_back() -> None:
    """A response with reasoning, texts, calls, usage and other fields is converted to a stream and back."""
    raw = b"".join(BEDROCK.streamed(RESPONSE, {}))
    assert run(raw)[1].findings == []
    assert assembled(raw) == RESPONSE


def test_the_stream_has_the_service_s_form() -> None:
    """Only calls have starts, all blocks stop in their order, and usage is last."""
    events = decoded(b"".join(BEDROCK.streamed(RESPONSE, {})))
    kinds = [kind.removeprefix("contentBlock") for kind, _ in events]
    tools = ["Start", "Delta", "Stop"]
    assert kinds == [
        *("messageStart", "Delta", "Delta", "Stop", "Delta", "Stop", "Delta", "Stop", "Delta", "Stop"),
        *(*tools, *tools, "messageStop", "metadata"),
    ]
    indexes = [body["contentBlockIndex"] for _, body in events if "contentBlockIndex" in body]
    assert indexes == sorted(indexes)
    assert set(indexes) == set(range(len(CONTENT)))


def test_keyed_events_are_assembled() -> None:
    """Events keyed by name, as Nova models send them, give the same response."""
    events = decoded(b"".join(BEDROCK.streamed(RESPONSE, {})))
    assert assembled(body(events, keyed=True)) == RESPONSE


@pytest.mark.parametrize("response", [{"message": "Too many requests"}, {"output": {}}, {"output": {"message": []}}])
def test_an_error_is_not_converted(response: dict[str, Any]) -> None:
    """An error or another body is not converted to a stream."""
    assert BEDROCK.streamed(response, {}) == []


def test_odd_content_raises_nothing() -> None:
    """A response with odd content blocks is converted, and its call is kept."""
    content = [None, {}, {"image": {"format": "png"}}, {"toolUse": {"toolUseId": "t", "name": "f"}}]
    response = {"output": {"message": {"content": content}}, "stopReason": "tool_use"}
    [call] = run(b"".join(BEDROCK.streamed(response, {})))[1].calls
    assert (call.name, json.loads(call.arguments)) == ("f", {})
