"""Chat Completions: healthy streams as OpenAI sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.chat import whole_answer
from toolstream_core.protocols.healthy_answer import CREATED, HealthyAnswer, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def streamed(answer: HealthyAnswer) -> Iterator[bytes]:
    """The events."""
    return whole_answer.streamed(whole(answer), answer.request, pieces)


def whole(answer: HealthyAnswer) -> dict[str, Any]:
    """https://platform.openai.com/docs/api-reference/chat/object."""
    asked, made = answer.tokens
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
    calls = [
        whole_answer.entry(f"call_{answer.call_letters(place, 24)}", call.name, call.arguments, custom=call.custom)
        for place, call in enumerate(answer.calls)
    ]
    reason = "tool_calls" if calls else "stop"
    message |= {"tool_calls": calls} if calls else {}
    return {
        "id": f"chatcmpl-{answer.letters('answer', 28)}",
        "object": "chat.completion",
        "created": CREATED,
        "model": answer.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": {"prompt_tokens": asked, "completion_tokens": made, "total_tokens": asked + made},
        "service_tier": "default",
        "system_fingerprint": f"fp_{answer.hexadecimal('system', 10)}",
    }
