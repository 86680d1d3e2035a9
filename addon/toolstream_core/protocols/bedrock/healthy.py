"""Converse: healthy answers, as Bedrock writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.answers import arguments_value
from toolstream_core.protocols.bedrock import whole_answer
from toolstream_core.protocols.healthy_answer import HealthyAnswer, pieces_after_empty

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def streamed(answer: HealthyAnswer) -> Iterator[bytes]:
    """The messages."""
    return whole_answer.streamed(whole(answer), answer.request, pieces_after_empty)


def whole(answer: HealthyAnswer) -> dict[str, Any]:
    """https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html."""
    asked, made = answer.tokens
    uses = [
        {
            "toolUse": {
                "toolUseId": f"tooluse_{answer.call_letters(place, 22)}",
                "name": call.name,
                "input": arguments_value(call.arguments),
            }
        }
        for place, call in enumerate(answer.calls)
    ]
    return {
        "output": {"message": {"role": "assistant", "content": uses or [{"text": answer.text}]}},
        "stopReason": "tool_use" if uses else "end_turn",
        "usage": {"inputTokens": asked, "outputTokens": made, "totalTokens": asked + made},
        "metrics": {"latencyMs": 951},
    }
