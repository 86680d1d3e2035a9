"""Cohere's whole answer and its stream say the same."""

from __future__ import annotations

from typing import Any

import pytest

from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.registry import named
from toolstream_core.wire.sse import SseFramer

TOKENS = {"input_tokens": 3, "output_tokens": 2}
CITATION = {"start": 0, "end": 3, "text": "Let", "sources": [], "content_index": 1, "type": "TEXT_CONTENT"}
CALLS = [
    {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1e2}'}},
    {"id": "g_2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
]
BLOCKS = [{"type": "thinking", "thinking": "Which one?"}, {"type": "text", "text": "Let me look."}]
ANSWER: dict[str, Any] = {
    "id": "chat-1",
    "finish_reason": "TOOL_CALL",
    "message": {
        "role": "assistant",
        "tool_plan": "I will use both.",
        "content": BLOCKS,
        "tool_calls": CALLS,
        "citations": [CITATION],
    },
    "usage": {"billed_units": TOKENS, "tokens": TOKENS},
}
COHERE = named("cohere-v2")
EXCHANGE = StreamFacts(path="/v2/chat", content_type="text/event-stream")


def assembled(raw: bytes) -> Any:
    """The whole answer that a stream amounts to."""
    record = read_body([raw], EXCHANGE)
    assert record is not None
    assert record.findings == []
    framer = SseFramer()
    payloads = [frame.json for frame in [*framer.feed(raw), *framer.feed(b"")]]
    return COHERE.assembled([one for one in payloads if isinstance(one, dict)], record.calls)


@pytest.mark.parametrize("lacking", [(), ("tool_plan",), ("content", "citations"), ("tool_calls",)])
def test_the_stream_of_an_answer_amounts_to_it(lacking: tuple[str, ...]) -> None:
    """Plan, thinking, text, calls, citations and usage; what an answer lacks does not come."""
    message = {key: value for key, value in ANSWER["message"].items() if key not in lacking}
    reason = "COMPLETE" if "tool_calls" in lacking else "TOOL_CALL"
    response = {**ANSWER, "message": message, "finish_reason": reason}
    raw = b"".join(COHERE.streamed(response, {}))
    assert raw.endswith(b"data: [DONE]\n\n")
    assert assembled(raw) == response


def test_content_that_is_a_text_becomes_a_block() -> None:
    """As requests say it, and servers that take Cohere for Chat Completions."""
    message = {"role": "assistant", "content": "Hello"}
    raw = b"".join(COHERE.streamed({**ANSWER, "message": message, "finish_reason": "COMPLETE"}, {}))
    assert assembled(raw)["message"]["content"] == [{"type": "text", "text": "Hello"}]


def test_deltas_without_a_start_are_text_all_the_same() -> None:
    """A stream that lacks `content-start`."""
    deltas = [{"type": "content-delta", "delta": {"message": {"content": {"text": text}}}} for text in ("Hel", "lo")]
    assert COHERE.assembled(deltas, []) == {
        "id": "saved",
        "finish_reason": "COMPLETE",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
        "usage": None,
    }


@pytest.mark.parametrize("response", [{"message": "invalid api token"}, {"message": None}, {}])
def test_what_is_no_answer_becomes_no_stream(response: dict[str, Any]) -> None:
    """An error stays what it is."""
    assert COHERE.streamed(response, {}) == []
