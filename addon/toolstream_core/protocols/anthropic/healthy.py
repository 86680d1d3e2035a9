"""Anthropic Messages: healthy answers, as Anthropic writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.answers import arguments_value
from toolstream_core.protocols.anthropic import whole_answer
from toolstream_core.protocols.healthy_answer import HealthyAnswer, pieces_after_empty

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_PING = b'event: ping\ndata: {"type": "ping"}\n\n'
_BEFORE_PING = 2
"""Events before the ping: the begin of the message and of its first block."""


def streamed(answer: HealthyAnswer) -> Iterator[bytes]:
    """The events."""
    for number, event in enumerate(whole_answer.streamed(whole(answer), answer.request, pieces_after_empty)):
        if number == _BEFORE_PING:
            yield _PING
        yield event


def whole(answer: HealthyAnswer) -> dict[str, Any]:
    """https://docs.claude.com/en/api/messages."""
    asked, made = answer.tokens
    uses = [
        {
            "type": "tool_use",
            "id": f"toolu_01{answer.call_letters(place, 22)}",
            "name": call.name,
            "input": arguments_value(call.arguments),
        }
        for place, call in enumerate(answer.calls)
    ]
    return {
        "id": f"msg_01{answer.letters('answer', 22)}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": uses or [{"type": "text", "text": answer.text}],
        "stop_reason": "tool_use" if uses else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": asked,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": made,
            "service_tier": "standard",
        },
    }
