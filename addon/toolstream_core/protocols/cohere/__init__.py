"""Cohere v2 chat: its reader, resolver, requests, repairs and faults."""

from typing import Final

from toolstream_core.protocols.cohere.api import CohereApi
from toolstream_core.protocols.cohere.reader import quiet, read, read_response, recognise
from toolstream_core.protocols.cohere.resolver import CohereCalls
from toolstream_core.protocols.protocol import WireProtocol

COHERE: Final = WireProtocol(
    name="cohere-v2",
    package=__name__,
    calls=CohereCalls,
    recognise=recognise,
    read=read,
    read_response=read_response,
    quiet=quiet,
    pointers=(
        "/index",
        "/delta/message/tool_calls",
        "/delta/message/tool_plan",
        "/delta/message/content",
        "/delta/finish_reason",
        "/delta/error",
        "/tool_calls",
    ),
    api=CohereApi(),
)
