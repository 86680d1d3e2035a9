"""Responses streams, judged and repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.responses.repair.repairer import ResponsesRepairer
from toolstream_core.stages.repair.half_answers import HalfAnswerRepairer
from toolstream_core.stages.repair.sse import SseRepairer

if TYPE_CHECKING:
    from toolstream_core.stages.repair.repairer import Repairer

REPAIRS: Final[tuple[type[Repairer], ...]] = (SseRepairer, ResponsesRepairer, HalfAnswerRepairer)
