"""Repairs, faults and shapes of Realtime responses: those of Responses streams that end with `response.done`."""

from __future__ import annotations

from functools import partial
from typing import Final

from toolstream_core.defects.defect import REALTIME
from toolstream_core.protocols.responses import stages
from toolstream_core.protocols.responses.inject import OWN, ResponsesCodec
from toolstream_core.protocols.responses.repair.stage import ResponsesRepair
from toolstream_core.repair.event_shapes import INTERLEAVED, INTERLEAVES
from toolstream_core.repair.shapes import SEQUENTIAL, TINY_FRAGMENTS, WHOLE_CALLS
from toolstream_core.stages.context import Promotion
from toolstream_core.stages.inject.injector import InjectorMaker, injectors
from toolstream_core.stages.repair.incomplete_calls import IncompleteCalls
from toolstream_core.stages.repair.repairer import RepairerMaker
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame


def promoted(promotion: Promotion) -> list[Frame]:
    """The frames with the calls and the terminal event; see `WireProtocol.promoted`."""
    *added, last = stages.promoted(promotion)
    return [*_of_response(promotion, added), last]


def _of_response(promotion: Promotion, frames: list[Frame]) -> list[Frame]:
    """Events with their own ids and that of their response."""
    payload = promotion.event.frame.json
    event = json_access.get(payload, "event_id")
    given = json_access.get(payload, "response_id")
    response = given if isinstance(given, str) else json_access.get(payload, "response", "id")
    whose = {"response_id": response} if isinstance(response, str) else {}
    return [
        promotion.writer.rewrite(frame, {"event_id": f"{event}_{at}", **whose, **frame.json})
        for at, frame in enumerate(frames)
        if isinstance(frame.json, dict)
    ]


REPAIRS: Final[tuple[RepairerMaker, ...]] = (partial(ResponsesRepair, realtime=True),)
AT_END: Final = IncompleteCalls
INJECTORS: Final[dict[str, InjectorMaker]] = injectors(REALTIME, ResponsesCodec, OWN)
SHAPES: Final = {
    **{one.names[0]: one for one in (WHOLE_CALLS, TINY_FRAGMENTS, SEQUENTIAL)},
    INTERLEAVED: INTERLEAVES,
}
