"""The nouns: what a wire says of tool calls, before and after it is understood. Knows no protocol."""

from toolstream_core.model.call import Call, Runs
from toolstream_core.model.change import Mended
from toolstream_core.model.event import Event
from toolstream_core.model.exchange import Exchange
from toolstream_core.model.finding import Finding, Severity
from toolstream_core.model.fragment import SILENCE, Finish, Fragment, Kind, Phase, Said
from toolstream_core.model.record import Injected, Note, Record
from toolstream_core.model.skipped import Passed
from toolstream_core.wire.json_value import ABSENT, Absent, Json, Seen

__all__ = [
    "ABSENT",
    "SILENCE",
    "Absent",
    "Call",
    "Event",
    "Exchange",
    "Finding",
    "Finish",
    "Fragment",
    "Injected",
    "Json",
    "Kind",
    "Mended",
    "Note",
    "Passed",
    "Phase",
    "Record",
    "Runs",
    "Said",
    "Seen",
    "Severity",
]
