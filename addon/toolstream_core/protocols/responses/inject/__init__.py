"""How Responses streams are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.responses.inject import arguments, custom_tools, event, identity
from toolstream_core.stages.inject import sse
from toolstream_core.stages.inject.markup import MARKUP

if TYPE_CHECKING:
    from toolstream_core.stages.inject.injector import InjectorMaker


def _leaked(row: str) -> InjectorMaker:
    return lambda context, pick: event.Leaked(context, pick, row)


INJECTORS: Final[dict[str, InjectorMaker]] = {
    **identity.INJECTORS,
    **arguments.INJECTORS,
    "custom-as-function": custom_tools.CustomAsFunction,
    "unparsable-data": event.UnparsableData,
    "missing-head": event.MissingHead,
    "bare-response": event.BareResponse,
    "sequence-numbers": event.SequenceNumbers,
    "restarted-stream": event.RestartedStream,
    "truncated-stream": event.TruncatedStream,
    "foreign-finish": event.ForeignFinish,
    "missing-finish": event.MissingFinish,
    "unstreamed-calls": event.UnstreamedCalls,
    "in-band-error": event.InBandError,
    "empty-output": event.EmptyOutput,
    **{row: _leaked(row) for row in MARKUP},
    **sse.INJECTORS,
}
