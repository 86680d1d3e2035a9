"""Realtime: healthy responses, as OpenAI writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolstream_core.protocols.healthy_answer import HealthyAnswer, pieces
from toolstream_core.protocols.realtime import whole_answer
from toolstream_core.protocols.realtime.events import realtime_response
from toolstream_core.protocols.responses import healthy as responses

if TYPE_CHECKING:
    from collections.abc import Iterator


def streamed(answer: HealthyAnswer) -> Iterator[bytes]:
    """The messages, one a line."""
    return whole_answer.streamed(whole(answer), answer.request, pieces)


def whole(answer: HealthyAnswer) -> dict[str, Any]:
    """The response that the last message has."""
    return realtime_response(responses.whole(answer))
