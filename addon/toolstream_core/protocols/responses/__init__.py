"""Responses: its reader, resolver, requests, repairs and faults."""

from typing import Final

from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.protocols.responses.api import ResponsesApi
from toolstream_core.protocols.responses.reader import quiet, read, read_response, recognise
from toolstream_core.protocols.responses.resolver import ResponsesCalls

RESPONSES: Final = WireProtocol(
    name="openai-responses",
    package=__package__,
    calls=ResponsesCalls,
    recognise=recognise,
    read=read,
    read_response=read_response,
    quiet=quiet,
    pointers=(
        "/item",
        "/delta",
        "/arguments",
        "/input",
        "/text",
        "/item_id",
        "/output_index",
        "/response/output",
        "/output",
        "/response/status",
        "/response/error",
        "/error",
        "/message",
    ),
    api=ResponsesApi(),
    call_keys=("item_id", "output_index"),
    id_key="call_id",
)
