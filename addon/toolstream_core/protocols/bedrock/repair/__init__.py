"""Converse streams, judged and repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.bedrock.repair.half_answers import ConverseHalfAnswerRepairer
from toolstream_core.protocols.bedrock.repair.repairer import ConverseRepairer
from toolstream_core.stages.repair.early_finish import EarlyFinishRepairer

if TYPE_CHECKING:
    from toolstream_core.stages.repair.repairer import Repairer

REPAIRS: Final[tuple[type[Repairer], ...]] = (EarlyFinishRepairer, ConverseRepairer)
AT_END: Final[type[Repairer]] = ConverseHalfAnswerRepairer
