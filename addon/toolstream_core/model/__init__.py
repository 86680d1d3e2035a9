"""The nouns: what a wire says of tool calls, before and after it is understood. Knows no protocol."""

from toolstream_core.model.call import Call, Runs
from toolstream_core.model.change import Change
from toolstream_core.model.event import Event
from toolstream_core.model.finding import Finding, Severity
from toolstream_core.model.fragment import NOTHING, EventContent, Finish, Fragment, Kind, Phase
from toolstream_core.model.record import Injected, Note, Record
from toolstream_core.model.skipped import SkippedRun
from toolstream_core.model.stream_facts import StreamFacts
from toolstream_core.wire.json_value import ABSENT, Absent, Json, Seen

__all__ = [
    "ABSENT",
    "NOTHING",
    "Absent",
    "Call",
    "Change",
    "Event",
    "EventContent",
    "Exchange",
    "Finding",
    "Finish",
    "Fragment",
    "Injected",
    "Json",
    "Kind",
    "Note",
    "Phase",
    "Record",
    "Runs",
    "Seen",
    "Severity",
    "SkippedRun",
    "StreamFacts",
]

Exchange = StreamFacts
"""The former name, for one version."""
