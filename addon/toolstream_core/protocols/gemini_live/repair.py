"""Gemini Live is only read: nothing is repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.stages.repair.half_answers import HalfAnswerRepairer

if TYPE_CHECKING:
    from toolstream_core.stages.repair.repairer import Repairer

REPAIRS: Final[tuple[type[Repairer], ...]] = ()
AT_END: Final[type[Repairer]] = HalfAnswerRepairer
