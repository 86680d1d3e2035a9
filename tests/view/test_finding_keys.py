"""Each defect says which keys of an event it is about."""

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
"""Defects of an event, a body or a connection, not of a value."""


def test_every_defect_of_a_value_has_keys() -> None:
    """And only those."""
    assert {row.name for row in DEFECTS if not row.keys} == EVENT
