"""The nouns: events, fragments, calls, findings, changes, records. Knows no protocol."""

from toolstream_core.model.events import NOTHING, Event, EventContent, Finish, Fragment, Kind, Phase, SkippedRun
from toolstream_core.model.record import (
    BAD_STATUS,
    Call,
    Change,
    Chunk,
    Finding,
    Injected,
    Note,
    Record,
    Runs,
    Severity,
    StreamFacts,
)
from toolstream_core.wire.json_value import ABSENT, Absent, Json, Seen

__all__ = [
    "ABSENT",
    "BAD_STATUS",
    "NOTHING",
    "Absent",
    "Call",
    "Change",
    "Chunk",
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
