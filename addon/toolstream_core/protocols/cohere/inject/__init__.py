"""How Cohere v2 streams are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.cohere.inject import call, message
from toolstream_core.protocols.cohere.inject.call_event import read_event
from toolstream_core.stages.inject import argument_edits, call_edits, call_injector, call_order, message_injector, sse

if TYPE_CHECKING:
    from toolstream_core.stages.inject.injector import InjectorMaker

INJECTORS: Final[dict[str, InjectorMaker]] = {
    **call_injector.makers(read_event, {**call_edits.EDITS, **call_edits.EDITS_OF_INDEXES, **call.EDITS}, steady=True),
    **call_injector.makers(
        read_event, {**call_edits.EDITS_OF_ONE_DELTA, **argument_edits.EDITS, **call.EDITS_OF_ONE_DELTA}
    ),
    **message_injector.makers(read_event),
    **call_order.makers(read_event),
    "missing-event-name": message_injector.maker(message.MissingEventName, read_event),
    "null-usage": message_injector.maker(message.NullUsage, read_event),
    "repeated-finish": message_injector.maker(message_injector.RepeatedFinish, read_event),
    "missing-done": message_injector.maker(message.MissingDone, read_event),
    "early-finish": message_injector.early_finish(read_event, message.early_end),
    "data-after-end": message.DataAfterEnd,
    **sse.INJECTORS,
}
