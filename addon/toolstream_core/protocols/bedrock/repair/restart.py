"""What a Converse stream says behind the start of a second message: nothing of it is repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.bedrock.converse_event import BLOCK_DELTA, BLOCK_START, BLOCK_STOP, INDEX, event_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Json
    from toolstream_core.protocols.bedrock.repair.client_block import Block
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer


class SecondMessage:
    """Sends its events as they came. Those of a block from before keep the index under which the client has it."""

    def __init__(self, before: Mapping[int | None, Block], writer: Writer) -> None:
        """`before`: the blocks of the first message, by their index."""
        self._before = before
        self._writer = writer
        self._indexes: set[Json] = set()
        """Where blocks have started in this one."""

    def passed(self, frame: Frame) -> Frame:
        """What goes on for an event."""
        event = event_of(frame)
        if event is None or event.kind not in {BLOCK_START, BLOCK_DELTA, BLOCK_STOP}:
            return frame
        if event.kind == BLOCK_START:
            self._indexes.add(event.index)
        block = self._before.get(event.index)
        if block is None or not block.moved or not self._indexes.isdisjoint({event.index, block.place}):
            return frame
        return self._writer.rewrite(frame, event.with_body({**event.body, INDEX: block.place}))
