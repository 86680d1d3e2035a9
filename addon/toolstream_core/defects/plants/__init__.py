"""How defects are caused in healthy streams, one file a protocol."""

from typing import Final

from toolstream_core.defects.plants import anthropic, chat, gemini, ollama, responses, sse
from toolstream_core.defects.plants.plant import Planter
from toolstream_core.defects.row import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES

PLANTS: Final[dict[str, dict[str, Planter]]] = {
    CHAT: {**chat.PLANTS, **sse.PLANTS},
    RESPONSES: {**responses.PLANTS, **sse.PLANTS},
    ANTHROPIC: {**anthropic.PLANTS, **sse.PLANTS},
    GEMINI: {**gemini.PLANTS, **sse.PLANTS},
    OLLAMA: ollama.PLANTS,
}
"""By the dialect's name, then by the defect's."""
