"""One row of the tables of causes, and the groups of protocols that share rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.defects.causes.rule import DELTA, ITEM, START, STOP, WHOLE
from toolstream_core.defects.row import ANTHROPIC, BEDROCK, CHAT, COHERE, GEMINI, OLLAMA, REALTIME, RESPONSES

if TYPE_CHECKING:
    from toolstream_core.defects.causes.rule import Cause
    from toolstream_core.defects.row import Row

BLOCKS: Final = (ANTHROPIC, BEDROCK, COHERE)
"""Events start and stop a call."""
DELTAS: Final = (*BLOCKS, CHAT)
"""All that stream a call as a start and deltas, and send no arguments a second time."""
ITEMS: Final = (REALTIME, RESPONSES)
"""Calls are items, and later events repeat their complete arguments."""
COMPLETE: Final = (GEMINI, OLLAMA)
"""A call comes complete in one event."""

STREAMED_ITEM: Final = START | DELTA | WHOLE | STOP
"""The events of an item."""
OF_ITEM: Final = STREAMED_ITEM | ITEM
CLOSINGS: Final = WHOLE | STOP | ITEM
"""The events that repeat the complete arguments."""
NAMED: Final = START | CLOSINGS
"""The events that may have the name of a call."""


class Injection(NamedTuple):
    """Injects a defect into the streams of some protocols."""

    defect: Row
    cause: Cause
    protocols: tuple[str, ...]


def inject(defect: Row, cause: Cause, *protocols: str) -> Injection:
    """A row for `protocols`; for all protocols of the defect if none is given."""
    return Injection(defect, cause, tuple(one for one in protocols or defect.dialects if one in defect.dialects))
