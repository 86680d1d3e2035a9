"""Lawful but rare ways to say the same calls, one file a protocol; they are never findings."""

from typing import Final

from toolstream_core.defects.row import CHAT
from toolstream_core.defects.stage import Stage
from toolstream_core.shapes import chat

SHAPES: Final[dict[str, dict[str, type[Stage]]]] = {CHAT: chat.SHAPES}
"""By the dialect's name, then by the shape's."""
