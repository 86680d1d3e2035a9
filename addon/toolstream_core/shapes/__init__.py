"""Lawful but rare ways to say the same calls, one file a protocol; they are never findings."""

from typing import Final

from toolstream_core.defects.row import ANTHROPIC, CHAT, RESPONSES
from toolstream_core.defects.stage import Stage
from toolstream_core.shapes import anthropic, chat, responses

SHAPES: Final[dict[str, dict[str, type[Stage]]]] = {
    CHAT: chat.SHAPES,
    RESPONSES: responses.SHAPES,
    ANTHROPIC: anthropic.SHAPES,
}
"""By the dialect's name, then by the shape's."""
