"""Responses: healthy streams as OpenAI sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolstream_core.model import ABSENT
from toolstream_core.protocols.healthy_answer import CREATED, HealthyAnswer, HealthyCall, pieces
from toolstream_core.protocols.responses import whole_answer
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterator

_USUAL: Final[dict[str, Any]] = {
    "instructions": None,
    "max_output_tokens": None,
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "metadata": {},
}
"""The request's fields that a response repeats, with their default values."""


def streamed(answer: HealthyAnswer) -> Iterator[bytes]:
    """The events."""
    return whole_answer.streamed(whole(answer), answer.request, pieces)


def whole(answer: HealthyAnswer) -> dict[str, Any]:
    """https://platform.openai.com/docs/api-reference/responses/object."""
    asked, made = answer.tokens
    output = [_item(answer, place, call) for place, call in enumerate(answer.calls)]
    said = {key: json_access.get(answer.request, key) for key in _USUAL}
    return {
        "id": f"resp_{answer.hexadecimal('answer', 48)}",
        "object": "response",
        "created_at": CREATED,
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": answer.model,
        "output": output or [_message(answer)],
        "service_tier": "default",
        "usage": {
            "input_tokens": asked,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": asked + made,
        },
        "user": None,
        **{key: usual if said[key] in (ABSENT, None) else said[key] for key, usual in _USUAL.items()},
    }


def _item(answer: HealthyAnswer, place: int, call: HealthyCall) -> dict[str, Any]:
    kind, key, prefix = ("custom_tool_call", "input", "ctc") if call.custom else ("function_call", "arguments", "fc")
    return {
        "id": f"{prefix}_{answer.hexadecimal(f'item {place}', 48)}",
        "type": kind,
        "status": "completed",
        key: call.arguments,
        "call_id": f"call_{answer.call_letters(place, 24)}",
        "name": call.name,
        **({"namespace": call.namespace} if call.namespace else {}),
    }


def _message(answer: HealthyAnswer) -> dict[str, Any]:
    part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
    return {
        "id": f"msg_{answer.hexadecimal('message', 48)}",
        "type": "message",
        "status": "completed",
        "content": [part],
        "role": "assistant",
    }
