"""How defects are caused in healthy streams, one file a protocol."""

from typing import Final

from toolstream_core.defects.plants import anthropic, chat, responses
from toolstream_core.defects.plants.plant import Planter
from toolstream_core.defects.row import ANTHROPIC, CHAT, RESPONSES

PLANTS: Final[dict[str, dict[str, Planter]]] = {
    CHAT: chat.PLANTS,
    RESPONSES: responses.PLANTS,
    ANTHROPIC: anthropic.PLANTS,
}
"""By the dialect's name, then by the defect's."""
