"""Cohere v2: healthy answers, as Cohere writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.cohere import whole_answer
from toolstream_core.protocols.healthy_answer import HealthyAnswer, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def streamed(answer: HealthyAnswer) -> Iterator[bytes]:
    """The events."""
    return whole_answer.streamed(whole(answer), answer.request, pieces)


def whole(answer: HealthyAnswer) -> dict[str, Any]:
    """https://docs.cohere.com/reference/chat."""
    asked, made = answer.tokens
    calls = [
        {
            "id": f"{call.name}_{answer.call_letters(place, 12)}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for place, call in enumerate(answer.calls)
    ]
    plan = f"I will use {' and '.join(dict.fromkeys(call.name for call in answer.calls))}."
    said = {"tool_plan": plan, "tool_calls": calls} if calls else {"content": [{"type": "text", "text": answer.text}]}
    return {
        "id": _uuid(answer.hexadecimal("answer", 32)),
        "finish_reason": "TOOL_CALL" if calls else "COMPLETE",
        "message": {"role": "assistant", **said},
        "usage": {
            "billed_units": {"input_tokens": asked, "output_tokens": made},
            "tokens": {"input_tokens": asked, "output_tokens": made},
        },
    }


def _uuid(digits: str) -> str:
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])
