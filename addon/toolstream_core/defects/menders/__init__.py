"""How each protocol's streams are judged and mended, one file a protocol."""

from typing import Final

from toolstream_core.defects.menders.anthropic import AnthropicMender
from toolstream_core.defects.menders.chat import ChatMender
from toolstream_core.defects.menders.gemini import GeminiMender
from toolstream_core.defects.menders.ollama import OllamaMender
from toolstream_core.defects.menders.responses import ResponsesMender
from toolstream_core.defects.menders.sse import SseMender
from toolstream_core.defects.row import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES
from toolstream_core.defects.stage import Mender

MENDERS: Final[dict[str, tuple[type[Mender], ...]]] = {
    CHAT: (SseMender, ChatMender),
    RESPONSES: (SseMender, ResponsesMender),
    ANTHROPIC: (SseMender, AnthropicMender),
    GEMINI: (SseMender, GeminiMender),
    OLLAMA: (OllamaMender,),
}
"""By the dialect's name, in the order in which they see an event."""
