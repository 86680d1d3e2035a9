"""Lawful but rare ways to say the same calls, one file a protocol; they are never findings."""

from typing import Final

from toolstream_core.defects.row import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES
from toolstream_core.protocols.anthropic import shape
from toolstream_core.protocols.chat.shape import deltas
from toolstream_core.protocols.gemini import shape
from toolstream_core.protocols.ollama import shape
from toolstream_core.protocols.responses import shape
from toolstream_core.stages.shape import sse
from toolstream_core.stages.stage import Stage

SHAPES: Final[dict[str, dict[str, type[Stage]]]] = {
    CHAT: {**deltas.SHAPES, **sse.SHAPES},
    RESPONSES: {**shape.SHAPES, **sse.SHAPES},
    ANTHROPIC: {**shape.SHAPES, **sse.SHAPES},
    GEMINI: {**shape.SHAPES, **sse.SHAPES},
    OLLAMA: shape.SHAPES,
}
"""By the dialect's name, then by the shape's."""
