"""Repairs, faults and shapes of Chat Completions streams."""

from __future__ import annotations

from typing import Final

from toolstream_core.defects.defect import CHAT
from toolstream_core.protocols.chat import shapes
from toolstream_core.protocols.chat.edit import entry_chunk
from toolstream_core.protocols.chat.inject import OWN, ChatCodec
from toolstream_core.protocols.chat.repair.stage import ChatRepair
from toolstream_core.stages import framing
from toolstream_core.stages.context import Promotion
from toolstream_core.stages.inject.injector import InjectorMaker, injectors
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import Payload


def promoted(promotion: Promotion) -> list[Frame]:
    """As `WireProtocol.promoted`."""
    payload: Payload = promotion.event.frame.json  # type: ignore[assignment] # a finish was read from it
    choices = [
        {**each, "finish_reason": "tool_calls"} if json_access.get(each, "finish_reason") == "stop" else each
        for each in json_access.items(payload.get("choices"))
    ]
    out: list[Frame] = []
    for at, (identity, wanted) in enumerate(promotion.calls):
        function = {"name": wanted.name, "arguments": wanted.arguments}
        call = {"index": promotion.place + at, "id": identity, "type": "function", "function": function}
        out.append(promotion.writer.make(entry_chunk(payload, promotion.choice, call), promotion.event.frame.number))
    return [*out, promotion.finished({**payload, "choices": choices})]


REPAIRS: Final[tuple[type[Repairer], ...]] = (framing.SseRepairer, ChatRepair)
AT_END = None
"""The stage itself withholds the end of a response with an incomplete call."""
INJECTORS: Final[dict[str, InjectorMaker]] = {**injectors(CHAT, ChatCodec, OWN), **framing.INJECTORS}
SHAPES: Final = {**shapes.SHAPES, **framing.SHAPES}
