"""The protocols, one file and one row each. The order is the order in which a stream of unknown path is tried."""

from typing import Final

from toolstream_core.protocols.anthropic.reader import ANTHROPIC
from toolstream_core.protocols.chat.reader import OPENAI_CHAT
from toolstream_core.protocols.gemini.reader import GEMINI
from toolstream_core.protocols.ollama.reader import OLLAMA
from toolstream_core.protocols.protocol import Dialect
from toolstream_core.protocols.responses.reader import OPENAI_RESPONSES

DIALECTS: Final[tuple[Dialect, ...]] = (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, GEMINI, OLLAMA)

__all__ = ["DIALECTS", "Dialect"]
