"""Gemini parts: calls of several candidates, and names whose arguments come in the next part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.invariants.driven import exchange, inspected, repaired, sse

if TYPE_CHECKING:
    from tests.invariants.driven import Payload

HERE = exchange("gemini")


def event(call: Payload, index: int = 0, **more: Any) -> Payload:
    """One call in one candidate."""
    content = {"role": "model", "parts": [{"functionCall": call}]}
    return {"candidates": [{"content": content, "index": index, **more}]}


def test_the_same_call_of_two_candidates_is_two() -> None:
    """They are two answers."""
    call = {"id": "a", "name": "f", "args": {"x": 1}}
    body = sse(event(call, finishReason="STOP"), event(call, 1, finishReason="STOP"))
    assert repaired(body, HERE).out == body


def test_arguments_in_the_next_part_may_be_text() -> None:
    """They go to the name as the object that they are."""
    body = sse(event({"name": "get_time", "args": {}}), event({"args": '{"x": 1e400}'}, finishReason="STOP"))
    out = repaired(body, HERE).out
    assert b'"args":{"x":1e400}' in out
    assert repaired(out, HERE).out == out
    assert inspected(out, HERE).finding_names == []


def test_a_call_under_the_id_of_two_is_the_one_that_it_says_again() -> None:
    """Whichever came first."""
    calls = [{"id": "a", "name": "f", "args": {"x": x}} for x in (1, 2, 2, 1)]
    out = repaired(sse(*map(event, calls), event({"name": "g", "args": {}}, finishReason="STOP")), HERE).out
    assert inspected(out, HERE).calls == [("f", {"x": 1}), ("f", {"x": 2}), ("g", {})]


def test_a_name_and_arguments_behind_it_under_the_id_of_another_call() -> None:
    """What is put together is looked at as one."""
    parts: list[Payload] = [
        {"id": "a", "name": "get_time", "args": {}},
        {"args": {"x": 1}},
        {"id": "a", "name": "get_time", "args": {}},
    ]
    out = repaired(sse(*map(event, parts), event({"args": {"x": 2}}, finishReason="STOP")), HERE).out
    assert out.count(b'"id":"a"') == 1
    assert inspected(out, HERE).finding_names == []
