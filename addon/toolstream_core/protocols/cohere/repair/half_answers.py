"""Cohere answers that are said to be over and whole although a call is half."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.protocols.cohere.wire import DONE
from toolstream_core.stages.repair.half_answers import HalfAnswerRepairer

if TYPE_CHECKING:
    from toolstream_core.model import Event


class CohereHalfAnswerRepairer(HalfAnswerRepairer):
    """Lets text go on behind `message-end` too: clients read on, for `[DONE]` follows it."""

    @override
    def is_read_last(self, event: Event) -> bool:
        return (event.frame.data or b"").strip() == DONE
