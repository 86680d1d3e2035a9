"""What a Converse stream says behind the start of a second message: nothing of it is repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.bedrock.converse_event import BLOCK_DELTA, BLOCK_START, BLOCK_STOP, INDEX, event_of
from toolstream_core.stages.repair.second_message import EarlierPlaces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.protocols.bedrock.repair.client_block import Block
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer

_NOBODYS: Final = 1 << 16
"""The index from which on no answer has blocks."""


class SecondMessage:
    """Sends its events as they came. Those of a block from before keep the index under which the client has it."""

    def __init__(self, before: Mapping[int | None, Block], writer: Writer) -> None:
        """`before`: the blocks of the first message, by their index."""
        self._before = EarlierPlaces({index: block.place for index, block in before.items() if block.moved}, _NOBODYS)
        self._writer = writer

    def passed(self, frame: Frame) -> Frame:
        """What goes on for an event."""
        event = event_of(frame)
        if event is None or event.kind not in {BLOCK_START, BLOCK_DELTA, BLOCK_STOP}:
            return frame
        place = self._before.place(event.index, starts=event.kind == BLOCK_START)
        return frame if place is None else self._writer.rewrite(frame, event.with_body({**event.body, INDEX: place}))
