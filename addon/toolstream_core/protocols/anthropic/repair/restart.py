"""What an Anthropic stream says behind the start of a second message: nothing of it is repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.anthropic.repair.events import index_of, type_of

if TYPE_CHECKING:
    from toolstream_core.model import Event
    from toolstream_core.protocols.anthropic.repair.client_message import ClientMessage
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer


class SecondMessage:
    """Sends its events as they came. Those of a block from before keep the index under which the client has it."""

    def __init__(self, before: ClientMessage, writer: Writer) -> None:
        """`before`: the first message."""
        self._before = before
        self._writer = writer
        self._indexes: set[int | None] = set()
        """Where blocks have started in this one."""

    def passed(self, event: Event) -> Frame:
        """What goes on for an event."""
        frame, payload, kind = event.frame, event.frame.json, type_of(event)
        if not isinstance(payload, dict) or not kind.startswith("content_block_"):
            return frame
        index = index_of(payload)
        if kind == "content_block_start":
            self._indexes.add(index)
        block = self._before.by_index.get(index)
        if block is None or not block.moved or not self._indexes.isdisjoint({index, block.place}):
            return frame
        return self._writer.rewrite(frame, block.moved_to_place(payload))
