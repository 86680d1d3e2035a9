"""A sink that keeps records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.engine.sink import Sink

if TYPE_CHECKING:
    from toolstream_core.model import Record


class RecordSink(Sink):
    """Keeps the records of all responses."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def ended(self, record: Record) -> None:
        self.records.append(record)
