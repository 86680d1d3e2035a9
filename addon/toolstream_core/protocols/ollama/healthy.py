"""Ollama's native chat: healthy answers, as Ollama writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.answers import arguments_value
from toolstream_core.protocols.healthy_answer import CREATED_TEXT, HealthyAnswer, pieces
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def streamed(answer: HealthyAnswer) -> Iterator[bytes]:
    """The lines: one for each call, or for each piece of the text, and one that says done."""
    said: list[dict[str, Any]] = [{"content": "", "tool_calls": [call]} for call in _calls(answer)]
    said += [{"content": text} for text in pieces(answer.text)] if not said else []
    for message in said:
        yield encoded({**_head(answer), "message": {"role": "assistant", **message}, "done": False}) + b"\n"
    yield encoded({**_head(answer), "message": {"role": "assistant", "content": ""}, **_end(answer)}) + b"\n"


def whole(answer: HealthyAnswer) -> dict[str, Any]:
    """https://github.com/ollama/ollama/blob/main/docs/api.md."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    calls = _calls(answer)
    message |= {"tool_calls": calls} if calls else {}
    return {**_head(answer), "message": message, **_end(answer)}


def _calls(answer: HealthyAnswer) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{answer.call_letters(place, 8)}",
            "function": {"index": place, "name": call.name, "arguments": arguments_value(call.arguments)},
        }
        for place, call in enumerate(answer.calls)
    ]


def _head(answer: HealthyAnswer) -> dict[str, Any]:
    return {"model": answer.model, "created_at": CREATED_TEXT}


def _end(answer: HealthyAnswer) -> dict[str, Any]:
    asked, made = answer.tokens
    return {
        "done_reason": "stop",
        "done": True,
        "total_duration": 749_341_069,
        "load_duration": 43_744_780,
        "prompt_eval_count": asked,
        "prompt_eval_duration": 172_134_763,
        "eval_count": made,
        "eval_duration": 447_756_394,
    }
