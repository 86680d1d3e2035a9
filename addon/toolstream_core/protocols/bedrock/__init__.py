"""Amazon Bedrock ConverseStream: its reader, resolver, requests, repairs and faults."""

from typing import Final

from toolstream_core.protocols.bedrock.api import BedrockApi
from toolstream_core.protocols.bedrock.reader import quiet, read, read_response, recognise
from toolstream_core.protocols.bedrock.resolver import ConverseCalls
from toolstream_core.protocols.protocol import WireProtocol

BEDROCK: Final = WireProtocol(
    name="bedrock",
    package=__name__,
    calls=ConverseCalls,
    recognise=recognise,
    read=read,
    read_response=read_response,
    quiet=quiet,
    pointers=(
        "/contentBlockIndex",
        "/start/toolUse",
        "/delta/toolUse",
        "/delta/text",
        "/delta/reasoningContent",
        "/stopReason",
        "/message",
        "/contentBlockStart",
        "/contentBlockDelta",
        "/messageStop",
    ),
    api=BedrockApi(),
    id_prefix="tooluse_",
    call_keys=("contentBlockIndex",),
    id_key="toolUseId",
)
"""Amazon Bedrock Converse."""
