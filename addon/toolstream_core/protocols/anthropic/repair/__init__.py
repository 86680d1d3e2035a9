"""Anthropic Messages streams, judged and repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.anthropic.repair.repairer import AnthropicRepairer
from toolstream_core.stages.repair.half_answers import HalfAnswerRepairer
from toolstream_core.stages.repair.sse import SseRepairer

if TYPE_CHECKING:
    from toolstream_core.stages.repair.repairer import Repairer

REPAIRS: Final[tuple[type[Repairer], ...]] = (SseRepairer, AnthropicRepairer)
AT_END: Final[type[Repairer]] = HalfAnswerRepairer
