"""Repairs, faults and shapes of Responses streams."""

from __future__ import annotations

from itertools import chain
from typing import Final

from toolstream_core.defects.defect import RESPONSES
from toolstream_core.protocols.responses.inject import OWN, ResponsesCodec
from toolstream_core.protocols.responses.repair.stage import ResponsesRepair
from toolstream_core.protocols.responses.responses import item_events
from toolstream_core.repair.event_shapes import INTERLEAVED, INTERLEAVES
from toolstream_core.repair.shapes import OF_RESPONSES
from toolstream_core.stages import framing
from toolstream_core.stages.context import Promotion, Wanted
from toolstream_core.stages.inject.injector import InjectorMaker, injectors
from toolstream_core.stages.repair.incomplete_calls import IncompleteCalls
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import Payload


def promoted(promotion: Promotion) -> list[Frame]:
    """The frames with the calls and the terminal event; see `WireProtocol.promoted`."""
    items = [_promoted_item(identity, wanted) for identity, wanted in promotion.calls]
    made = [promotion.new_events(*item_events(item, place)) for place, item in enumerate(items, promotion.place)]
    payload: Payload = promotion.event.frame.json  # type: ignore[assignment] # a finish was read from it
    response = payload.get("response")
    if isinstance(response, dict):
        output = [*json_access.items(response.get("output")), *items]
        payload = {**payload, "response": {**response, "output": output}}
    return [*chain.from_iterable(made), promotion.finished(payload)]


def _promoted_item(identity: str, wanted: Wanted) -> Payload:
    item = {"type": "function_call", "id": f"fc_{identity}", "call_id": identity, "name": wanted.name}
    return {**item, "arguments": wanted.arguments, "status": "completed"}


REPAIRS: Final[tuple[type[Repairer], ...]] = (framing.SseRepairer, ResponsesRepair)
AT_END: Final = IncompleteCalls
INJECTORS: Final[dict[str, InjectorMaker]] = {**injectors(RESPONSES, ResponsesCodec, OWN), **framing.INJECTORS}
SHAPES: Final = {**OF_RESPONSES, INTERLEAVED: INTERLEAVES, **framing.SHAPES}
