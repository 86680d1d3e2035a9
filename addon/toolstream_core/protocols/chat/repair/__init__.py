"""Chat Completions streams, judged and repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.chat.repair.half_answers import ChatHalfAnswerRepairer
from toolstream_core.protocols.chat.repair.repairer import ChatRepairer
from toolstream_core.stages.repair.sse import SseRepairer

if TYPE_CHECKING:
    from toolstream_core.stages.repair.repairer import Repairer

REPAIRS: Final[tuple[type[Repairer], ...]] = (SseRepairer, ChatRepairer)
AT_END: Final[type[Repairer]] = ChatHalfAnswerRepairer
