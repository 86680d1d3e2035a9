"""Gemini's Interactions API: its reader, requests, repairs and faults."""

from typing import Final

from toolstream_core.calls.started_calls import SequentialCalls
from toolstream_core.protocols.gemini_interactions.api import InteractionsApi
from toolstream_core.protocols.gemini_interactions.reader import quiet, read, read_response, recognise
from toolstream_core.protocols.protocol import WireProtocol

GEMINI_INTERACTIONS: Final = WireProtocol(
    name="gemini-interactions",
    package=__name__,
    # A `step.start` opens a call, a `step.stop` ends it; a stop has only an index.
    calls=SequentialCalls,
    recognise=recognise,
    read=read,
    read_response=read_response,
    quiet=quiet,
    pointers=(
        "/index",
        "/step",
        "/delta/arguments",
        "/delta/text",
        "/delta/content",
        "/interaction/status",
        "/steps",
        "/status",
        "/error",
    ),
    api=InteractionsApi(),
)
