"""Ollama streams with calls in the line with `done: true`."""

from __future__ import annotations

import json

from tests.invariants.driven import exchange, lines, repaired
from toolstream_core.wire.sse import BOM


def test_text_with_calls_is_moved_with_them() -> None:
    """Text and thinking in the last line are moved with the calls to a line before it."""
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
    """A byte order mark stays before a line that is inserted before the first line."""
    out = repaired(BOM + lines(LAST), exchange("ollama")).out
    assert out.startswith(BOM)
    lines_out = [json.loads(line) for line in out.removeprefix(BOM).splitlines()]
    assert [line["done"] for line in lines_out] == [False, True]


def test_an_unterminated_last_line_is_unchanged_after_a_disconnect() -> None:
    """After a disconnect, an unterminated last line is forwarded unchanged."""
    body = lines(LAST).rstrip()
    outcome = repaired(body, exchange("ollama"), broken="reset")
    assert (outcome.out, outcome.record.changed) == (body, 0)
    assert len(repaired(body, exchange("ollama")).out.splitlines()) == 2
