"""Converse answers that are said to be over and whole although a call is half."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.stages.repair.half_answers import HalfAnswerRepairer

if TYPE_CHECKING:
    from toolstream_core.model import Event


class ConverseHalfAnswerRepairer(HalfAnswerRepairer):
    """Lets text go on behind `messageStop` too: clients read on, for `metadata` follows it."""

    @override
    def is_read_last(self, event: Event) -> bool:
        return False
