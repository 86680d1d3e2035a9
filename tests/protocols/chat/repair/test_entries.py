"""What becomes of choices without a delta, and of calls that are in a final message only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants import strict
from tests.invariants.driven import repaired
from tests.invariants.healthy import streams

if TYPE_CHECKING:
    from tests.invariants.driven import Payload

EXCHANGE = next(one.exchange for one in streams() if one.dialect == "openai-chat")
CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}
ROLE = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}

TEXT = {"index": 0, "delta": {"content": "Hi"}, "finish_reason": None}


def body(*choices: Payload) -> bytes:
    """One event for each choice, and the end."""
    payloads = ({"id": "s", "object": "chat.completion.chunk", "choices": [choice]} for choice in choices)
    return b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in payloads) + b"data: [DONE]\n\n"


def last_choice(out: bytes) -> Payload:
    """The choice of the last event before the end."""
    choice: Payload = json.loads(out.split(b"data: ")[-2])["choices"][0]
    return choice


@pytest.mark.parametrize(
    ("before", "final", "left"),
    [
        ([ROLE, TEXT], {}, {"delta": {}}),
        ([ROLE, TEXT], {"delta": {}}, {"delta": {}}),
        ([ROLE, TEXT], {"delta": None}, {"delta": {}}),
        ([ROLE], {}, {"delta": {"content": "Hi"}}),
        ([], {}, {"delta": {"content": "Hi"}}),
    ],
)
def test_calls_of_the_message_move_to_a_delta(before: list[Payload], final: Payload, left: Payload) -> None:
    """Every reader gets each call and the text once, and every chunk has a delta."""
    message: dict[str, Any] = {"content": "Hi", "tool_calls": [CALL]}
    out = repaired(
        body(*before, {"index": 0, **final, "message": message, "finish_reason": "tool_calls"}), EXCHANGE
    ).out
    assert strict.calls("openai-chat", out, EXCHANGE) == [("get_weather", {"city": "Paris"})]
    assert last_choice(out) == {"index": 0, "finish_reason": "tool_calls", **left}


def test_a_message_beside_its_deltas_stays() -> None:
    """Where deltas say the call too, nothing is amiss and nothing is rewritten."""
    delta = {"index": 0, "delta": {"tool_calls": [{"index": 0, **CALL}]}, "finish_reason": None}
    final = {"index": 0, "delta": {}, "message": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}
    stream = body(ROLE, delta, final)
    assert repaired(stream, EXCHANGE).out == stream


@pytest.mark.parametrize("delta", [{}, {"delta": None}])
def test_a_finish_without_a_delta_gets_one(delta: Payload) -> None:
    """It is the chunk that every client reads to the end."""
    call = {"index": 0, "delta": {"tool_calls": [{"index": 0, **CALL}]}, "finish_reason": None}
    went = repaired(body(ROLE, call, {"index": 0, **delta, "finish_reason": "tool_calls"}), EXCHANGE)
    assert went.finding_names == ["missing-delta"]
    assert last_choice(went.out) == {"index": 0, "delta": {}, "finish_reason": "tool_calls"}


def test_an_event_without_a_delta_gets_one_while_calls_wait() -> None:
    """An event behind a header that waits for its id is read as any other."""
    header = {"index": 0, "function": {"name": "get_weather", "arguments": ""}}
    opening = {"index": 0, "delta": {"tool_calls": [header]}, "finish_reason": None}
    call = {"index": 0, "delta": {"tool_calls": [{"index": 0, **CALL}]}, "finish_reason": None}
    bare = {"index": 0, "finish_reason": None, "logprobs": None}
    finish = {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
    out = repaired(body(ROLE, opening, bare, call, finish), EXCHANGE).out
    assert strict.calls("openai-chat", out, EXCHANGE) == [("get_weather", {"city": "Paris"})]


def test_an_answer_that_is_a_message_gets_no_delta_for_another_reason() -> None:
    """A reader that takes the message where there is no delta would take nothing then."""
    said = {"index": 0, "message": {"content": "Hi"}, "finish_reason": "end_turn"}
    went = repaired(body(said), EXCHANGE)
    assert went.finding_names == ["foreign-finish"]
    assert last_choice(went.out) == {**said, "finish_reason": "stop"}
