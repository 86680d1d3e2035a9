"""Whatever valid way a protocol takes to say calls: the calls that were intended are what is read."""

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


class Edit(NamedTuple):
    """How intended calls become a body."""

    render: Render
    content_type: str
    calls: st.SearchStrategy[list[Intended]]


SSE, JSON, LINES = "text/event-stream", "application/json", "application/x-ndjson"
WAYS = {
    "chat": Edit(rendering.chat, SSE, intended(choices=2)),
    "chat, not streamed": Edit(rendering.chat_answer, JSON, intended(choices=2)),
    "responses": Edit(rendering.responses, SSE, intended()),
    "responses, not streamed": Edit(rendering.responses_answer, JSON, intended()),
    "anthropic": Edit(rendering.anthropic, SSE, intended()),
    "anthropic, not streamed": Edit(rendering.anthropic_answer, JSON, intended()),
    "gemini": Edit(rendering.gemini, SSE, intended(choices=2)),
    "gemini, not streamed": Edit(rendering.gemini_answer, JSON, intended()),
    "gemini, partial arguments": Edit(rendering.gemini_partial, SSE, intended(SCALARS)),
    "ollama": Edit(rendering.ollama, LINES, intended()),
    "ollama, not streamed": Edit(rendering.ollama_answer, JSON, intended()),
}


def body(payloads: list[dict[str, Any]], content_type: str) -> bytes:
    """The payloads in their framing; SSE events have their type as name where they have one."""
    if content_type == LINES:
        return "".join(f"{json.dumps(payload)}\n" for payload in payloads).encode()
    if content_type == JSON:
        return json.dumps(payloads[0]).encode()
    return "".join(_event(payload) for payload in payloads).encode()


def _event(payload: dict[str, Any]) -> str:
    name = f"event: {payload['type']}\n" if "type" in payload else ""
    return f"{name}data: {json.dumps(payload, ensure_ascii=False)}\n\n"


def meant(call: Call) -> Intended:
    """What was read of a call."""
    return Intended(call.choice, call.id, call.name, json.loads(call.arguments))


@pytest.mark.parametrize("way", WAYS)
@given(data=st.data())
def test_read_as_intended(way: str, data: st.DataObject) -> None:
    """The same calls with the same values, in the same order within a choice, all whole and none guessed."""
    render, content_type, calls = WAYS[way]
    wanted = data.draw(calls)
    payloads = render(data.draw, wanted)
    record = read_body([body(payloads, content_type)], StreamFacts(content_type=content_type))
    assert record is not None
    for choice in (0, 1):
        read = [meant(call) for call in record.calls if call.choice == choice]
        assert read == [call for call in wanted if call.choice == choice]
    assert all(call.complete and not call.guessed for call in record.calls)
    assert record.ended == (way != "gemini, partial arguments")
