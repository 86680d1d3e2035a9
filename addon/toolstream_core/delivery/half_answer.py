"""Answers that stop in the middle of a call, whose end is no clean one for the client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.finish import CUT_OFF_CALL

if TYPE_CHECKING:
    from collections.abc import Collection

    from toolstream_core.model import Record


def has_half_call(record: Record, repairs: Collection[str]) -> bool:
    """Whether an answer is to end as an error or a break, as its repair says; `repairs` are codes."""
    found = {finding.code for finding in record.findings}
    return CUT_OFF_CALL.code in found and CUT_OFF_CALL.code in repairs and not record.finish
