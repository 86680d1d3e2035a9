"""Realtime: its reader, resolver, requests, repairs and faults."""

from typing import Final

from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.protocols.realtime.api import RealtimeApi
from toolstream_core.protocols.realtime.reader import quiet, read, read_response, recognise
from toolstream_core.protocols.responses.resolver import ResponsesCalls

REALTIME: Final = WireProtocol(
    name="openai-realtime",
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
        "/transcript",
        "/text",
        "/item_id",
        "/call_id",
        "/output_index",
        "/response/output",
        "/response/status",
        "/response/status_details",
        "/error",
    ),
    api=RealtimeApi(),
    over_http=False,
    call_keys=("item_id", "output_index"),
    id_key="call_id",
)
