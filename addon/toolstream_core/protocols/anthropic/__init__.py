"""Anthropic Messages: its reader, resolver, requests, repairs and faults."""

from typing import Final

from toolstream_core.protocols.anthropic.api import AnthropicApi
from toolstream_core.protocols.anthropic.reader import quiet, read, read_response, recognise
from toolstream_core.protocols.anthropic.resolver import AnthropicCalls
from toolstream_core.protocols.protocol import WireProtocol

ANTHROPIC: Final = WireProtocol(
    name="anthropic",
    package=__name__,
    calls=AnthropicCalls,
    recognise=recognise,
    read=read,
    read_response=read_response,
    quiet=quiet,
    pointers=(
        "/message/content",
        "/index",
        "/content_block",
        "/delta/partial_json",
        "/delta/text",
        "/delta/thinking",
        "/delta/stop_reason",
        "/content",
        "/stop_reason",
        "/error",
    ),
    api=AnthropicApi(),
    id_prefix="toolu_",
)
