"""How defects are caused in healthy streams, one file a protocol."""

from typing import Final

from toolstream_core.defects.row import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES
from toolstream_core.protocols.anthropic import inject
from toolstream_core.protocols.chat import inject
from toolstream_core.protocols.gemini import inject
from toolstream_core.protocols.ollama import inject
from toolstream_core.protocols.responses import inject
from toolstream_core.stages.inject import sse
from toolstream_core.stages.inject.injector import Planter

PLANTS: Final[dict[str, dict[str, Planter]]] = {
    CHAT: {**inject.PLANTS, **sse.PLANTS},
    RESPONSES: {**inject.PLANTS, **sse.PLANTS},
    ANTHROPIC: {**inject.PLANTS, **sse.PLANTS},
    GEMINI: {**inject.PLANTS, **sse.PLANTS},
    OLLAMA: inject.PLANTS,
}
"""By the dialect's name, then by the defect's."""
