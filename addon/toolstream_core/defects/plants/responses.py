"""How Responses streams are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.plants import responses_arguments, responses_custom, responses_event, responses_item
from toolstream_core.defects.plants.markup import MARKUP

if TYPE_CHECKING:
    from toolstream_core.defects.plants.plant import Planter


def _leaked(row: str) -> Planter:
    return lambda context, pick: responses_event.Leaked(context, pick, row)


PLANTS: Final[dict[str, Planter]] = {
    **responses_item.PLANTS,
    **responses_arguments.PLANTS,
    "custom-as-function": responses_custom.CustomAsFunction,
    "unparsable-data": responses_event.UnparsableData,
    "missing-head": responses_event.MissingHead,
    "bare-response": responses_event.BareResponse,
    "sequence-numbers": responses_event.SequenceNumbers,
    "restarted-stream": responses_event.RestartedStream,
    "truncated-stream": responses_event.TruncatedStream,
    "foreign-finish": responses_event.ForeignFinish,
    "missing-finish": responses_event.MissingFinish,
    "unstreamed-calls": responses_event.UnstreamedCalls,
    "in-band-error": responses_event.InBandError,
    "empty-output": responses_event.EmptyOutput,
    **{row: _leaked(row) for row in MARKUP},
}
