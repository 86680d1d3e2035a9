"""Repairs of Gemini parts: several candidates, and arguments in the part after the name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.invariants.driven import exchange, inspected, repaired, sse

if TYPE_CHECKING:
    from tests.invariants.driven import Payload

HERE = exchange("gemini")


def event(call: Payload, index: int = 0, **more: Any) -> Payload:
    """Return an event with one call in one candidate."""
    content = {"role": "model", "parts": [{"functionCall": call}]}
    return {"candidates": [{"content": content, "index": index, **more}]}


def test_the_same_call_of_two_candidates_is_kept() -> None:
    """The same call in two candidates is not a repetition."""
    call = {"id": "a", "name": "f", "args": {"x": 1}}
    body = sse(event(call, finishReason="STOP"), event(call, 1, finishReason="STOP"))
    assert repaired(body, HERE).out == body


def test_arguments_in_the_next_part_may_be_text() -> None:
    """Arguments as text in the part after the name are joined with the name as an object."""
    body = sse(event({"name": "get_time", "args": {}}), event({"args": '{"x": 1e400}'}, finishReason="STOP"))
    out = repaired(body, HERE).out
    assert b'"args":{"x":1e400}' in out
    assert repaired(out, HERE).out == out
    assert inspected(out, HERE).finding_names == []


def test_a_repeated_call_is_compared_with_all_calls_of_its_id() -> None:
    """A call that repeats any earlier call of its id is dropped."""
    calls = [{"id": "a", "name": "f", "args": {"x": x}} for x in (1, 2, 2, 1)]
    out = repaired(sse(*map(event, calls), event({"name": "g", "args": {}}, finishReason="STOP")), HERE).out
    assert inspected(out, HERE).calls == [("f", {"x": 1}), ("f", {"x": 2}), ("g", {})]


def test_a_joined_call_of_a_used_id_gets_another_id() -> None:
    """A call joined from two parts is checked for a used id as one call."""
    parts: list[Payload] = [
        {"id": "a", "name": "get_time", "args": {}},
        {"args": {"x": 1}},
        {"id": "a", "name": "get_time", "args": {}},
    ]
    out = repaired(sse(*map(event, parts), event({"args": {"x": 2}}, finishReason="STOP")), HERE).out
    assert out.count(b'"id":"a"') == 1
    assert inspected(out, HERE).finding_names == []
