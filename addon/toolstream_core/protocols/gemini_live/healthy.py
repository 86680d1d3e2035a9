"""Gemini Live: healthy answers, as Google writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolstream_core.protocols.answers import arguments_value
from toolstream_core.protocols.healthy_answer import HealthyAnswer, pieces
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Iterator


def streamed(answer: HealthyAnswer) -> Iterator[bytes]:
    """The messages, one a line: all calls in one, or a text in pieces and the end of the turn."""
    last = whole(answer)
    if not answer.calls:
        for piece in pieces(answer.text):
            yield _line({"serverContent": {"modelTurn": _turn(piece)}})
        yield _line({"serverContent": {"generationComplete": True}})
        last["serverContent"] = {"turnComplete": True}
    yield _line(last)


def whole(answer: HealthyAnswer) -> dict[str, Any]:
    """What the messages say, in one; https://ai.google.dev/api/live#BidiGenerateContentServerMessage."""
    asked, made = answer.tokens
    usage = {"promptTokenCount": asked, "responseTokenCount": made, "totalTokenCount": asked + made}
    if not answer.calls:
        return {"serverContent": {"modelTurn": _turn(answer.text), "turnComplete": True}, "usageMetadata": usage}
    calls = [
        {"id": answer.call_letters(place, 20), "name": call.name, "args": arguments_value(call.arguments)}
        for place, call in enumerate(answer.calls)
    ]
    return {"toolCall": {"functionCalls": calls}, "usageMetadata": usage}


def _turn(text: str) -> dict[str, Any]:
    return {"role": "model", "parts": [{"text": text}]}


def _line(message: dict[str, Any]) -> bytes:
    return encoded(message) + b"\n"
