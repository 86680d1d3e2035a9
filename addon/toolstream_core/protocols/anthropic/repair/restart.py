"""What an Anthropic stream says behind the start of a second message: nothing of it is repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.anthropic.repair.events import index_of, type_of
from toolstream_core.protocols.anthropic.resolver import NOBODYS
from toolstream_core.stages.repair.second_message import EarlierPlaces

if TYPE_CHECKING:
    from toolstream_core.model import Event
    from toolstream_core.protocols.anthropic.repair.client_message import ClientMessage
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer


class SecondMessage:
    """Sends its events as they came. Those of a block from before keep the index under which the client has it."""

    def __init__(self, before: ClientMessage, writer: Writer) -> None:
        """`before`: the first message."""
        moved = {index: block.place for index, block in before.by_index.items() if block.moved}
        self._before = EarlierPlaces(moved, NOBODYS)
        self._writer = writer

    def passed(self, event: Event) -> Frame:
        """What goes on for an event."""
        frame, payload, kind = event.frame, event.frame.json, type_of(event)
        if not isinstance(payload, dict) or not kind.startswith("content_block_"):
            return frame
        place = self._before.place(index_of(payload), starts=kind == "content_block_start")
        return frame if place is None else self._writer.rewrite(frame, {**payload, "index": place})
