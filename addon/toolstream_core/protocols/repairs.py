"""How each protocol's streams are judged and mended, one file a protocol."""

from typing import Final

from toolstream_core.defects.row import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES
from toolstream_core.protocols.anthropic.repair.repairer import AnthropicMender
from toolstream_core.protocols.chat.repair.repairer import ChatMender
from toolstream_core.protocols.gemini.repair import GeminiMender
from toolstream_core.protocols.ollama.repair import OllamaMender
from toolstream_core.protocols.responses.repair.repairer import ResponsesMender
from toolstream_core.stages.repair.sse import SseMender
from toolstream_core.stages.stage import Mender

MENDERS: Final[dict[str, tuple[type[Mender], ...]]] = {
    CHAT: (SseMender, ChatMender),
    RESPONSES: (SseMender, ResponsesMender),
    ANTHROPIC: (SseMender, AnthropicMender),
    GEMINI: (SseMender, GeminiMender),
    OLLAMA: (OllamaMender,),
}
"""By the dialect's name, in the order in which they see an event."""
