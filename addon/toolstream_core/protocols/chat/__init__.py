"""Chat Completions: its reader, resolver, requests, repairs and faults."""

from typing import Final

from toolstream_core.protocols.chat.api import ChatApi
from toolstream_core.protocols.chat.reader import quiet, read, read_response, recognise
from toolstream_core.protocols.chat.resolver import ChatCalls
from toolstream_core.protocols.protocol import CallForm, WireProtocol

CHAT: Final = WireProtocol(
    name="openai-chat",
    package=__package__,
    calls=ChatCalls,
    recognise=recognise,
    read=read,
    read_response=read_response,
    quiet=quiet,
    call_form=CallForm.DELTAS,
    pointers=(
        "/choices/*/delta/tool_calls",
        "/choices/*/delta/function_call",
        "/choices/*/delta/content",
        "/choices/*/delta/reasoning_content",
        "/choices/*/delta/reasoning",
        "/choices/*/delta/reasoning_details",
        "/choices/*/message",
        "/choices/*/finish_reason",
        "/error",
        "/x_groq/error",
        "/base_resp/status_msg",
        "/message",
    ),
    api=ChatApi(),
)
