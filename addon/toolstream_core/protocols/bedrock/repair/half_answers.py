"""Converse answers that are said to be over and whole although a call is half."""

from __future__ import annotations

from toolstream_core.stages.repair.half_answers import HalfAnswerRepairer


class ConverseHalfAnswerRepairer(HalfAnswerRepairer):
    """Lets text go on behind `messageStop` too: clients read on, for `metadata` follows it."""

    end_is_read_last = False
