"""The only place that decides which call a fragment belongs to."""

from toolstream_core.calls.block_resolver import AnthropicCalls, GeminiCalls
from toolstream_core.calls.open_call import OpenCall, known
from toolstream_core.calls.resolver import Calls, Heard
from toolstream_core.protocols.chat.resolver import ChatCalls, OllamaCalls
from toolstream_core.protocols.responses.resolver import ResponsesCalls

__all__ = [
    "AnthropicCalls",
    "Calls",
    "ChatCalls",
    "GeminiCalls",
    "Heard",
    "OllamaCalls",
    "OpenCall",
    "ResponsesCalls",
    "known",
]
