"""Ollama lines whose calls are sent in the line with done: true."""

from __future__ import annotations

import json

from tests.invariants.driven import exchange, lines, repaired
from toolstream_core.wire.sse import BOM


def test_what_is_said_beside_calls_stays_before_them() -> None:
    """Text and thinking go with the calls, ahead of the line that says done."""
    call = {"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}
    message = {"role": "assistant", "content": "Let me look.", "thinking": "Hm.", "tool_calls": [call]}
    last = {"model": "m", "message": message, "done": True, "done_reason": "stop", "eval_count": 7}
    out = [json.loads(line) for line in repaired(lines(last), exchange("ollama")).out.splitlines()]
    assert out == [
        {"model": "m", "message": message, "done": False},
        {**last, "message": {"role": "assistant", "content": "", "thinking": ""}},
    ]


LAST = {"message": {"content": "So.", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}, "done": True}


def test_a_byte_order_mark_stays_first() -> None:
    """Behind the calls that go ahead of the line, it would be part of a line that is no JSON."""
    out = repaired(BOM + lines(LAST), exchange("ollama")).out
    assert out.startswith(BOM)
    said = [json.loads(line) for line in out.removeprefix(BOM).splitlines()]
    assert [line["done"] for line in said] == [False, True]


def test_a_last_line_that_a_break_cuts_stays_as_it_came() -> None:
    """Nothing of a line without its end is made an event."""
    body = lines(LAST).rstrip()
    went = repaired(body, exchange("ollama"), broken="reset")
    assert (went.out, went.record.changed) == (body, 0)
    assert len(repaired(body, exchange("ollama")).out.splitlines()) == 2
