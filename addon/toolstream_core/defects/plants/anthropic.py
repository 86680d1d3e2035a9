"""How Anthropic streams are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.plants import anthropic_block, anthropic_message
from toolstream_core.defects.plants.markup import MARKUP

if TYPE_CHECKING:
    from toolstream_core.defects.plants.plant import Planter


def _leaked(row: str) -> Planter:
    return lambda context, pick: anthropic_message.Leaked(context, pick, row)


PLANTS: Final[dict[str, Planter]] = {
    **anthropic_block.PLANTS,
    "unparsable-data": anthropic_message.UnparsableData,
    "missing-event-name": anthropic_message.MissingEventName,
    "null-usage": anthropic_message.NullUsage,
    "restarted-stream": anthropic_message.RestartedStream,
    "truncated-stream": anthropic_message.TruncatedStream,
    "missing-done": anthropic_message.MissingDone,
    "missing-finish": anthropic_message.MissingFinish,
    "wrong-finish": anthropic_message.WrongFinish,
    "foreign-finish": anthropic_message.ForeignFinish,
    "missing-calls": anthropic_message.MissingCalls,
    "in-band-error": anthropic_message.InBandError,
    **{row: _leaked(row) for row in MARKUP},
}
