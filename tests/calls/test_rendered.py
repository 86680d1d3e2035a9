"""Every valid encoding of calls is read as the intended calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.calls import rendering
from tests.calls.rendering import SCALARS, Intended, intended
from toolstream_core.engine.session import read_body
from toolstream_core.model import Call, StreamFacts

if TYPE_CHECKING:
    from tests.calls.rendering import Render


class Encoding(NamedTuple):
    """An encoding of intended calls."""

    render: Render
    content_type: str
    calls: st.SearchStrategy[list[Intended]]


SSE, JSON, LINES = "text/event-stream", "application/json", "application/x-ndjson"
ENCODINGS = {
    "chat": Encoding(rendering.chat, SSE, intended(choices=2)),
    "chat, not streamed": Encoding(rendering.chat_unstreamed, JSON, intended(choices=2)),
    "responses": Encoding(rendering.responses, SSE, intended()),
    "responses, not streamed": Encoding(rendering.responses_unstreamed, JSON, intended()),
    "anthropic": Encoding(rendering.anthropic, SSE, intended()),
    "anthropic, not streamed": Encoding(rendering.anthropic_unstreamed, JSON, intended()),
    "gemini": Encoding(rendering.gemini, SSE, intended(choices=2)),
    "gemini, not streamed": Encoding(rendering.gemini_unstreamed, JSON, intended()),
    "gemini, partial arguments": Encoding(rendering.gemini_partial, SSE, intended(SCALARS)),
    "ollama": Encoding(rendering.ollama, LINES, intended()),
    "ollama, not streamed": Encoding(rendering.ollama_unstreamed, JSON, intended()),
}


def body(payloads: list[dict[str, Any]], content_type: str) -> bytes:
    """Return the payloads in their framing; SSE events are named by their type."""
    if content_type == LINES:
        return "".join(f"{json.dumps(payload)}\n" for payload in payloads).encode()
    if content_type == JSON:
        return json.dumps(payloads[0]).encode()
    return "".join(_event(payload) for payload in payloads).encode()


def _event(payload: dict[str, Any]) -> str:
    name = f"event: {payload['type']}\n" if "type" in payload else ""
    return f"{name}data: {json.dumps(payload, ensure_ascii=False)}\n\n"


def as_intended(call: Call) -> Intended:
    """Convert a resolved call."""
    return Intended(call.choice, call.id, call.name, json.loads(call.arguments))


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(data=st.data())
def test_encodings_are_read_as_intended(encoding: str, data: st.DataObject) -> None:
    """Every encoding gives the intended calls in the order of their choice, all complete and none guessed."""
    render, content_type, calls = ENCODINGS[encoding]
    expected = data.draw(calls)
    payloads = render(data.draw, expected)
    record = read_body([body(payloads, content_type)], StreamFacts(content_type=content_type))
    assert record is not None
    for choice in (0, 1):
        read = [as_intended(call) for call in record.calls if call.choice == choice]
        assert read == [call for call in expected if call.choice == choice]
    assert all(call.complete and not call.guessed for call in record.calls)
    assert record.ended == (encoding != "gemini, partial arguments")
