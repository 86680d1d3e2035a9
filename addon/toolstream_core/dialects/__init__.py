"""The protocols, one file and one row each. The order is the order in which a stream of unknown path is tried."""

from typing import Final

from toolstream_core.dialects.anthropic import ANTHROPIC
from toolstream_core.dialects.dialect import Dialect
from toolstream_core.dialects.gemini import GEMINI
from toolstream_core.dialects.ollama import OLLAMA
from toolstream_core.dialects.openai_chat import OPENAI_CHAT
from toolstream_core.dialects.openai_responses import OPENAI_RESPONSES

DIALECTS: Final[tuple[Dialect, ...]] = (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, GEMINI, OLLAMA)

__all__ = ["DIALECTS", "Dialect"]
