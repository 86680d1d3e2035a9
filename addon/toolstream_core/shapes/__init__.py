"""Lawful but rare ways to say the same calls, one file a protocol; they are never findings."""

from typing import Final

from toolstream_core.defects.row import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES
from toolstream_core.defects.stage import Stage
from toolstream_core.shapes import anthropic, chat, gemini, ollama, responses, sse

SHAPES: Final[dict[str, dict[str, type[Stage]]]] = {
    CHAT: {**chat.SHAPES, **sse.SHAPES},
    RESPONSES: {**responses.SHAPES, **sse.SHAPES},
    ANTHROPIC: {**anthropic.SHAPES, **sse.SHAPES},
    GEMINI: {**gemini.SHAPES, **sse.SHAPES},
    OLLAMA: ollama.SHAPES,
}
"""By the dialect's name, then by the shape's."""
