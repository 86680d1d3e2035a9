"""Gemini's Interactions API: its reader, resolver, requests, repairs and faults."""

import re
from typing import Final

from toolstream_core.protocols.gemini_interactions.api import InteractionsApi
from toolstream_core.protocols.gemini_interactions.reader import quiet, read, read_response, recognise
from toolstream_core.protocols.gemini_interactions.resolver import InteractionsCalls
from toolstream_core.protocols.protocol import WireProtocol

GEMINI_INTERACTIONS: Final = WireProtocol(
    name="gemini-interactions",
    package=__name__,
    # On Vertex, the location precedes it. Discord has `/interactions` too, without a version.
    paths=re.compile(r"/(?:v1\w*|locations/[^/]+)/interactions/?$"),
    calls=InteractionsCalls,
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
