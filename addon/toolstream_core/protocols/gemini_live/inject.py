"""Gemini Live is only read: nothing is broken in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolstream_core.stages.inject.injector import InjectorMaker

INJECTORS: Final[dict[str, InjectorMaker]] = {}
"""By the defect's name."""
