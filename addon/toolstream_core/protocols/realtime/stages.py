"""Repairs, faults and shapes of Realtime responses: those of Responses streams that end with `response.done`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from toolstream_core.defects.defect import REALTIME
from toolstream_core.protocols.responses.inject import OWN, ResponsesCodec
from toolstream_core.protocols.responses.repair.stage import ResponsesRepair
from toolstream_core.repair.shapes import SEQUENTIAL, TINY_FRAGMENTS, WHOLE_CALLS
from toolstream_core.stages.inject.injector import injectors
from toolstream_core.stages.repair.incomplete_calls import IncompleteCalls

if TYPE_CHECKING:
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.stages.repair.repairer import RepairerMaker

REPAIRS: Final[tuple[RepairerMaker, ...]] = (partial(ResponsesRepair, realtime=True),)
AT_END: Final = IncompleteCalls
INJECTORS: Final[dict[str, InjectorMaker]] = injectors(REALTIME, ResponsesCodec, OWN)
SHAPES: Final = {one.names[0]: one for one in (WHOLE_CALLS, TINY_FRAGMENTS, SEQUENTIAL)}
