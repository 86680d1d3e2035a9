"""The indexes under which a client gets the blocks of a Converse answer: gaps are lawful, one for two calls is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.identity import ODD_INDEX
from toolstream_core.protocols.bedrock.converse_event import INDEX

if TYPE_CHECKING:
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.protocols.bedrock.converse_event import ConverseEvent, Payload


class ClientIndexes:
    """Gives blocks an index of their own where the wire does not."""

    def __init__(self) -> None:
        """For one answer."""
        self._top = -1
        """The highest index so far."""
        self._made_up: dict[int, int] = {}
        """Those that the wire did not give, each with the one for whatever else the wire has there."""
        self._rows: dict[int, Row] = {}
        """Why they were made up."""

    def __bool__(self) -> bool:
        """Whether any block was moved."""
        return bool(self._made_up)

    def has(self, index: int | None) -> bool:
        """Whether a block was moved to this index."""
        return index in self._made_up

    def made_up_for(self, index: int | None) -> Row | None:
        """The defect for which a block was moved to this index; `None` where none was."""
        return None if index is None else self._rows.get(index)

    def next(self, row: Row) -> int:
        """A new index, for the repair of a defect."""
        self._top += 1
        self._made_up[self._top], self._rows[self._top] = self._top, row
        return self._top

    def of_block(self, event: ConverseEvent, row: Row | None, *, used: bool) -> Json:
        """The index of a block that `event` starts: a new one where `row` moves it.

        A number in another spelling is that number, unless it is `used`: another block's.
        """
        self._seen(event)
        if row is None:
            return event.body.get(INDEX)
        index = event.index
        return index if row is ODD_INDEX and index is not None and index >= 0 and not used else self.next(row)

    def of_other(self, event: ConverseEvent) -> Payload:
        """An event of a block that is not a call, moved where a call has its index."""
        self._seen(event)
        index = event.index
        if index is None or index not in self._made_up:
            return event.body
        if self._made_up[index] == index:
            self._made_up[index] = self.next(self._rows[index])
        return {**event.body, INDEX: self._made_up[index]}

    def _seen(self, event: ConverseEvent) -> None:
        if event.index is not None:
            self._top = max(self._top, event.index)
