"""How Cohere v2 streams are judged and repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.cohere.repair.half_answers import CohereHalfAnswerRepairer
from toolstream_core.protocols.cohere.repair.repairer import CohereRepairer
from toolstream_core.stages.repair.early_finish import EarlyFinishRepairer
from toolstream_core.stages.repair.sse import SseRepairer

if TYPE_CHECKING:
    from toolstream_core.stages.repair.repairer import Repairer

REPAIRS: Final[tuple[type[Repairer], ...]] = (SseRepairer, EarlyFinishRepairer, CohereRepairer)
AT_END: Final[type[Repairer]] = CohereHalfAnswerRepairer
