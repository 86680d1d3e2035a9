"""The end of a Chat Completions answer of which a call is half."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.stages.repair.half_answers import HalfAnswerRepairer

if TYPE_CHECKING:
    from toolstream_core.model import EventContent


class ChatHalfAnswerRepairer(HalfAnswerRepairer):
    """Keeps back `[DONE]`: the finish before it goes, and is told `length` (`FinishReasons.honest`)."""

    @override
    def _says_whole(self, content: EventContent) -> bool:
        return content.end
