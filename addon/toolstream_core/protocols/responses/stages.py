"""Repairs, faults and shapes of Responses streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.defect import RESPONSES
from toolstream_core.protocols.responses.inject import OWN, ResponsesCodec
from toolstream_core.protocols.responses.repair.stage import ResponsesRepair
from toolstream_core.repair.shapes import OF_RESPONSES
from toolstream_core.stages import framing
from toolstream_core.stages.inject.injector import injectors
from toolstream_core.stages.repair.incomplete_calls import IncompleteCalls

if TYPE_CHECKING:
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.stages.repair.repairer import Repairer

REPAIRS: Final[tuple[type[Repairer], ...]] = (framing.SseRepairer, ResponsesRepair)
AT_END: Final = IncompleteCalls
INJECTORS: Final[dict[str, InjectorMaker]] = {**injectors(RESPONSES, ResponsesCodec, OWN), **framing.INJECTORS}
SHAPES: Final = {**OF_RESPONSES, **framing.SHAPES}
