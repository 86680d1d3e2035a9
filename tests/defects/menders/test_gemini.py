"""Gemini parts: calls of several candidates, and names whose arguments come in the next part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.defects.driven import exchange, mended, seen, sse

if TYPE_CHECKING:
    from tests.defects.driven import Payload

HERE = exchange("gemini")


def event(call: Payload, index: int = 0, **more: Any) -> Payload:
    """One call in one candidate."""
    content = {"role": "model", "parts": [{"functionCall": call}]}
    return {"candidates": [{"content": content, "index": index, **more}]}


def test_the_same_call_of_two_candidates_is_two() -> None:
    """They are two answers."""
    call = {"id": "a", "name": "f", "args": {"x": 1}}
    body = sse(event(call, finishReason="STOP"), event(call, 1, finishReason="STOP"))
    assert mended(body, HERE).out == body


def test_arguments_in_the_next_part_may_be_text() -> None:
    """They go to the name as the object that they are."""
    body = sse(event({"name": "f", "args": {}}), event({"args": '{"x": 1e400}'}, finishReason="STOP"))
    out = mended(body, HERE).out
    assert b'"args":{"x":1e400}' in out
    assert mended(out, HERE).out == out
    assert seen(out, HERE).told == []
