"""How Anthropic streams are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.anthropic.inject import arguments, block, message
from toolstream_core.stages.inject import sse
from toolstream_core.stages.inject.markup import MARKUP

if TYPE_CHECKING:
    from toolstream_core.stages.inject.injector import InjectorMaker


def _leaked(row: str) -> InjectorMaker:
    return lambda context, pick: message.Leaked(context, pick, row)


INJECTORS: Final[dict[str, InjectorMaker]] = {
    **block.INJECTORS,
    **arguments.INJECTORS,
    "unparsable-data": message.UnparsableData,
    "missing-event-name": message.MissingEventName,
    "null-usage": message.NullUsage,
    "restarted-stream": message.RestartedStream,
    "truncated-stream": message.TruncatedStream,
    "missing-done": message.MissingDone,
    "missing-finish": message.MissingFinish,
    "wrong-finish": message.WrongFinish,
    "foreign-finish": message.ForeignFinish,
    "missing-calls": message.MissingCalls,
    "in-band-error": message.InBandError,
    **{row: _leaked(row) for row in MARKUP},
    **sse.INJECTORS,
}
