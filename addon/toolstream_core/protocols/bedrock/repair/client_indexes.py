"""The indexes under which a client gets the blocks of a Converse answer: gaps are lawful, one for two calls is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.bedrock.converse_event import INDEX

if TYPE_CHECKING:
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

    def __bool__(self) -> bool:
        """Whether any block was moved."""
        return bool(self._made_up)

    def is_made_up(self, index: int | None) -> bool:
        """Whether a block was moved to this index."""
        return index in self._made_up

    def next(self) -> int:
        """A new index."""
        self._top += 1
        self._made_up[self._top] = self._top
        return self._top

    def of_block(self, event: ConverseEvent, *, moved: bool) -> Json:
        """The index of a block that `event` starts, as the wire says it where it is not `moved`."""
        self._seen(event)
        return self.next() if moved else event.body.get(INDEX)

    def of_other(self, event: ConverseEvent) -> Payload:
        """An event of a block that is not a call, moved where a call has its index."""
        self._seen(event)
        index = event.index
        if index is None or index not in self._made_up:
            return event.body
        if self._made_up[index] == index:
            self._made_up[index] = self.next()
        return {**event.body, INDEX: self._made_up[index]}

    def _seen(self, event: ConverseEvent) -> None:
        if event.index is not None:
            self._top = max(self._top, event.index)
