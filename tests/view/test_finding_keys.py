"""Each defect has the keys of an event that it is about."""

from __future__ import annotations

from typing import Final

from toolstream_core.defects.table import DEFECTS

EVENT: Final = frozenset(
    {
        "oversize-frame",
        "unparsable-data",
        "unterminated-event",
        "unreadable-body",
        "comment-as-data",
        "empty-data",
        "missing-event-name",
        "data-after-end",
        "body-not-stream",
        "restarted-stream",
        "missing-head",
        "joined-events",
        "wrong-content-type",
        "truncated-stream",
        "unterminated-body",
        "missing-done",
    }
)
"""Defects of an event, a body or a connection."""


def test_every_defect_of_a_value_has_keys() -> None:
    """Other defects have none."""
    assert {defect.name for defect in DEFECTS if not defect.keys} == EVENT
