"""Conversion between Cohere's unstreamed responses and streams."""

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
RESPONSE: dict[str, Any] = {
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
    """Return the unstreamed response of a stream."""
    record = read_body([raw], EXCHANGE)
    assert record is not None
    assert record.findings == []
    framer = SseFramer()
    payloads = [frame.json for frame in [*framer.feed(raw), *framer.feed(b"")]]
    return COHERE.assembled([one for one in payloads if isinstance(one, dict)], record.calls)


@pytest.mark.parametrize("missing", [(), ("tool_plan",), ("content", "citations"), ("tool_calls",)])
def test_a_response_is_converted_to_a_stream_and_back(missing: tuple[str, ...]) -> None:
    """A response converted to a stream and back is unchanged, also without some of its fields."""
    message = {key: value for key, value in RESPONSE["message"].items() if key not in missing}
    reason = "COMPLETE" if "tool_calls" in missing else "TOOL_CALL"
    response = {**RESPONSE, "message": message, "finish_reason": reason}
    raw = b"".join(COHERE.streamed(response, {}))
    assert raw.endswith(b"data: [DONE]\n\n")
    assert assembled(raw) == response


def test_text_content_becomes_a_block() -> None:
    """Content that is text, as in Chat Completions, becomes a text block."""
    message = {"role": "assistant", "content": "Hello"}
    raw = b"".join(COHERE.streamed({**RESPONSE, "message": message, "finish_reason": "COMPLETE"}, {}))
    assert assembled(raw)["message"]["content"] == [{"type": "text", "text": "Hello"}]


def test_text_deltas_without_a_start_are_assembled() -> None:
    """The text of a stream without `content-start` is assembled."""
    deltas = [{"type": "content-delta", "delta": {"message": {"content": {"text": text}}}} for text in ("Hel", "lo")]
    assert COHERE.assembled(deltas, []) == {
        "id": "saved",
        "finish_reason": "COMPLETE",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
        "usage": None,
    }


@pytest.mark.parametrize("response", [{"message": "invalid api token"}, {"message": None}, {}])
def test_an_error_is_not_converted(response: dict[str, Any]) -> None:
    """An error or another body is not converted to a stream."""
    assert COHERE.streamed(response, {}) == []
