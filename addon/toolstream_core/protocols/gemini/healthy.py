"""Gemini: healthy answers, as Google writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.answers import arguments_value
from toolstream_core.protocols.gemini import whole_answer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from toolstream_core.protocols.healthy_answer import HealthyAnswer


def streamed(answer: HealthyAnswer) -> Iterator[bytes]:
    """The events: all calls in one, a text in two."""
    parts = _parts(answer)
    if not answer.calls:
        middle = len(answer.text) // 2
        parts = [{"text": answer.text[:middle]}, {"text": answer.text[middle:]}]
        yield from whole_answer.streamed(_answer(answer, parts[:1], finish=False), answer.request)
        parts = parts[1:]
    yield from whole_answer.streamed(_answer(answer, parts, finish=True), answer.request)


def whole(answer: HealthyAnswer) -> dict[str, Any]:
    """https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse."""
    return _answer(answer, _parts(answer), finish=True)


def _parts(answer: HealthyAnswer) -> list[dict[str, Any]]:
    calls = [{"functionCall": {"name": one.name, "args": arguments_value(one.arguments)}} for one in answer.calls]
    return calls or [{"text": answer.text}]


def _answer(answer: HealthyAnswer, parts: list[dict[str, Any]], *, finish: bool) -> dict[str, Any]:
    asked, made = answer.tokens
    reason = {"finishReason": "STOP"} if finish else {}
    return {
        "candidates": [{"content": {"parts": parts, "role": "model"}, **reason, "index": 0}],
        "usageMetadata": {
            "promptTokenCount": asked,
            "candidatesTokenCount": made,
            "totalTokenCount": asked + made,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": asked}],
        },
        "modelVersion": answer.model,
        "responseId": answer.letters("answer", 22),
    }
