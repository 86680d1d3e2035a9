"""Converse's whole answer and its stream say the same."""

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
ANSWER: dict[str, Any] = {
    "output": {"message": {"role": "assistant", "content": CONTENT}},
    "stopReason": "tool_use",
    "usage": USAGE,
    "metrics": {"latencyMs": 7},
    "additionalModelResponseFields": {"stop_sequence": "x"},
}
BEDROCK = named("bedrock")


def assembled(raw: bytes) -> Any:
    """The whole answer that a stream amounts to."""
    framer = EventStreamFramer()
    frames = [*framer.feed(raw), *framer.feed(b"")]
    payloads = [frame.json for frame in frames if isinstance(frame.json, dict)]
    return BEDROCK.assembled(payloads, run(raw)[1].calls)


def test_the_stream_of_an_answer_amounts_to_it() -> None:
    """Reasoning with its signature, texts in blocks of their own, calls, usage and what models add."""
    raw = b"".join(BEDROCK.streamed(ANSWER, {}))
    assert run(raw)[1].findings == []
    assert assembled(raw) == ANSWER


def test_the_stream_is_one_that_the_service_would_send() -> None:
    """Calls alone have starts; all blocks stop, in their order; usage comes last."""
    said = decoded(b"".join(BEDROCK.streamed(ANSWER, {})))
    kinds = [kind.removeprefix("contentBlock") for kind, _ in said]
    tools = ["Start", "Delta", "Stop"]
    assert kinds == [
        *("messageStart", "Delta", "Delta", "Stop", "Delta", "Stop", "Delta", "Stop", "Delta", "Stop"),
        *(*tools, *tools, "messageStop", "metadata"),
    ]
    indexes = [body["contentBlockIndex"] for _, body in said if "contentBlockIndex" in body]
    assert indexes == sorted(indexes)
    assert set(indexes) == set(range(len(CONTENT)))


def test_events_that_have_their_name_as_a_key_amount_to_the_same() -> None:
    """As Nova's models stream them through InvokeModel."""
    said = decoded(b"".join(BEDROCK.streamed(ANSWER, {})))
    assert assembled(body(said, keyed=True)) == ANSWER


@pytest.mark.parametrize("response", [{"message": "Too many requests"}, {"output": {}}, {"output": {"message": []}}])
def test_what_is_no_answer_becomes_no_stream(response: dict[str, Any]) -> None:
    """An error stays what it is."""
    assert BEDROCK.streamed(response, {}) == []


def test_odd_content_raises_nothing() -> None:
    """Whatever a block is, it is said in a delta of its own."""
    content = [None, {}, {"image": {"format": "png"}}, {"toolUse": {"toolUseId": "t", "name": "f"}}]
    response = {"output": {"message": {"content": content}}, "stopReason": "tool_use"}
    [call] = run(b"".join(BEDROCK.streamed(response, {})))[1].calls
    assert (call.name, json.loads(call.arguments)) == ("f", {})
