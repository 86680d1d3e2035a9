"""Repairs, faults and shapes of Responses streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.row import RESPONSES
from toolstream_core.protocols.responses.inject import OWN
from toolstream_core.protocols.responses.inject.codec import ResponsesCodec
from toolstream_core.protocols.responses.repair.stage import ResponsesRepair
from toolstream_core.repair.policy import OF_RESPONSES
from toolstream_core.stages.inject import sse as sse_faults
from toolstream_core.stages.inject.cause_injector import injectors
from toolstream_core.stages.repair.incomplete_calls import IncompleteCalls
from toolstream_core.stages.repair.sse import SseRepairer
from toolstream_core.stages.shape import sse as sse_shapes

if TYPE_CHECKING:
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.stages.repair.repairer import Repairer

REPAIRS: Final[tuple[type[Repairer], ...]] = (SseRepairer, ResponsesRepair)
AT_END: Final = IncompleteCalls
INJECTORS: Final[dict[str, InjectorMaker]] = {**injectors(RESPONSES, ResponsesCodec, OWN), **sse_faults.INJECTORS}
SHAPES: Final = {**OF_RESPONSES, **sse_shapes.SHAPES}
