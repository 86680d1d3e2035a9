"""Choices without a delta, chunks without choices, and calls only in a final message."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants import strict
from tests.invariants.driven import payloads, repaired
from tests.invariants.healthy import streams

if TYPE_CHECKING:
    from tests.invariants.driven import Payload
    from toolstream_core.model import Json

EXCHANGE = next(one.exchange for one in streams() if one.protocol == "openai-chat")
CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}
ROLE = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}

TEXT = {"index": 0, "delta": {"content": "Hi"}, "finish_reason": None}


def body(*choices: Payload) -> bytes:
    """Return an event for each choice, and `[DONE]`."""
    payloads = ({"id": "s", "object": "chat.completion.chunk", "choices": [choice]} for choice in choices)
    return b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in payloads) + b"data: [DONE]\n\n"


def last_choice(out: bytes) -> Payload:
    """Return the choice of the last event before `[DONE]`."""
    choice: Payload = json.loads(out.split(b"data: ")[-2])["choices"][0]
    return choice


@pytest.mark.parametrize(
    ("before", "final", "rest"),
    [
        ([ROLE, TEXT], {}, {"delta": {}}),
        ([ROLE, TEXT], {"delta": {}}, {"delta": {}}),
        ([ROLE, TEXT], {"delta": None}, {"delta": {}}),
        ([ROLE], {}, {"delta": {"content": "Hi"}}),
        ([], {}, {"delta": {"content": "Hi"}}),
    ],
)
def test_calls_of_a_message_are_moved_to_a_delta(before: list[Payload], final: Payload, rest: Payload) -> None:
    """Calls and text that are only in a final message are moved to a delta, and every chunk has a delta."""
    message: dict[str, Any] = {"content": "Hi", "tool_calls": [CALL]}
    out = repaired(
        body(*before, {"index": 0, **final, "message": message, "finish_reason": "tool_calls"}), EXCHANGE
    ).out
    assert strict.calls("openai-chat", out, EXCHANGE) == [("get_weather", {"city": "Paris"})]
    assert last_choice(out) == {"index": 0, "finish_reason": "tool_calls", **rest}


def test_a_message_that_repeats_deltas_is_unchanged() -> None:
    """A final message that repeats the calls of the deltas is forwarded unchanged."""
    delta = {"index": 0, "delta": {"tool_calls": [{"index": 0, **CALL}]}, "finish_reason": None}
    final = {"index": 0, "delta": {}, "message": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}
    stream = body(ROLE, delta, final)
    assert repaired(stream, EXCHANGE).out == stream


@pytest.mark.parametrize("delta", [{}, {"delta": None}])
def test_a_delta_is_added_to_the_finish_reason(delta: Payload) -> None:
    """A chunk with a finish reason and without a delta gets an empty delta."""
    call = {"index": 0, "delta": {"tool_calls": [{"index": 0, **CALL}]}, "finish_reason": None}
    outcome = repaired(body(ROLE, call, {"index": 0, **delta, "finish_reason": "tool_calls"}), EXCHANGE)
    assert outcome.finding_names == ["missing-delta"]
    assert last_choice(outcome.out) == {"index": 0, "delta": {}, "finish_reason": "tool_calls"}


def test_a_chunk_without_a_delta_after_a_held_header_is_read() -> None:
    """A chunk without a delta after a held header does not disturb the call."""
    header = {"index": 0, "function": {"name": "get_weather", "arguments": ""}}
    opening = {"index": 0, "delta": {"tool_calls": [header]}, "finish_reason": None}
    call = {"index": 0, "delta": {"tool_calls": [{"index": 0, **CALL}]}, "finish_reason": None}
    bare = {"index": 0, "finish_reason": None, "logprobs": None}
    finish = {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
    out = repaired(body(ROLE, opening, bare, call, finish), EXCHANGE).out
    assert strict.calls("openai-chat", out, EXCHANGE) == [("get_weather", {"city": "Paris"})]


def test_no_delta_is_added_to_a_message_when_its_finish_reason_is_fixed() -> None:
    """No delta is added to a message when its finish reason is fixed: clients would read that instead."""
    choice = {"index": 0, "message": {"content": "Hi"}, "finish_reason": "end_turn"}
    outcome = repaired(body(choice), EXCHANGE)
    assert outcome.finding_names == ["foreign-finish"]
    assert last_choice(outcome.out) == {**choice, "finish_reason": "stop"}


@pytest.mark.parametrize(
    ("more", "left"),
    [({}, []), ({"usage": {"total_tokens": 2}}, [[]]), ({"x_vendor": 1}, [[]]), ({"usage": None}, [])],
    ids=["nothing", "usage", "vendor", "null usage"],
)
def test_a_chunk_without_choices_gets_an_empty_list_or_is_left_out(more: Payload, left: list[list[Json]]) -> None:
    """Clients that read the first choice of each chunk fail at an empty list: only what it has beside is worth that."""
    chunk = {"id": "s", "object": "chat.completion.chunk", "choices": None, **more}
    before = body(ROLE).removesuffix(b"data: [DONE]\n\n")
    out = repaired(before + f"data: {json.dumps(chunk)}\n\n".encode() + body(TEXT), EXCHANGE).out
    choices = [one["choices"] for one in payloads(out)]
    assert choices == [[ROLE], *left, [TEXT]]
