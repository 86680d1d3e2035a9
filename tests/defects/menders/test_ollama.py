"""Ollama lines whose calls come in the line that says done."""

from __future__ import annotations

import json

from tests.defects.driven import exchange, lines, mended


def test_what_is_said_beside_calls_stays_before_them() -> None:
    """Text and thinking go with the calls, ahead of the line that says done."""
    call = {"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}
    message = {"role": "assistant", "content": "Let me look.", "thinking": "Hm.", "tool_calls": [call]}
    last = {"model": "m", "message": message, "done": True, "done_reason": "stop", "eval_count": 7}
    out = [json.loads(line) for line in mended(lines(last), exchange("ollama")).out.splitlines()]
    assert out == [
        {"model": "m", "message": message, "done": False},
        {**last, "message": {"role": "assistant", "content": "", "thinking": ""}},
    ]
