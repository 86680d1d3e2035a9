"""The only place that decides which call a fragment belongs to."""

from toolstream_core.calls.blocks import AnthropicCalls, GeminiCalls
from toolstream_core.calls.book import Calls, Heard
from toolstream_core.calls.chat import ChatCalls, OllamaCalls
from toolstream_core.calls.opened import OpenCall, known
from toolstream_core.calls.responses import ResponsesCalls

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
