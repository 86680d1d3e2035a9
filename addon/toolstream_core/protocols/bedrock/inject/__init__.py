"""How Converse streams are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.bedrock.inject import block, message
from toolstream_core.protocols.bedrock.inject.block_event import read_event
from toolstream_core.stages.inject import argument_edits, call_edits, call_injector, call_order, message_injector

if TYPE_CHECKING:
    from toolstream_core.stages.inject.injector import InjectorMaker

INJECTORS: Final[dict[str, InjectorMaker]] = {
    **call_injector.makers(read_event, {**call_edits.EDITS, **call_edits.EDITS_OF_INDEXES, **block.EDITS}, steady=True),
    **call_injector.makers(
        read_event, {**call_edits.EDITS_OF_ONE_DELTA, **argument_edits.EDITS, **block.EDITS_OF_ONE_DELTA}
    ),
    **message_injector.makers(read_event),
    **call_order.makers(read_event),
    "early-finish": message_injector.early_finish(read_event, message.early_stop),
    "null-usage": message_injector.maker(message.NullUsage, read_event),
}
"""By the defect's name."""
