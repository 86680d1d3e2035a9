"""Gemini Live is only read: its calls are not said in another way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolstream_core.stages.stage import Stage

SHAPES: Final[dict[str, type[Stage]]] = {}
"""By name."""
