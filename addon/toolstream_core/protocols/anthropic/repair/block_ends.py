"""How Anthropic content blocks end for the client: what is said of each before its stop, and text behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.defects.finish import UNCLOSED_CALL
from toolstream_core.protocols.anthropic.repair.block_mode import Stop
from toolstream_core.protocols.anthropic.repair.client_message import ClientMessage
from toolstream_core.protocols.anthropic.repair.output import NamedEventRepairer

if TYPE_CHECKING:
    from toolstream_core.protocols.anthropic.repair.client_block import ClientBlock
    from toolstream_core.stages.context import Context


class BlockEndRepairer(NamedEventRepairer):
    """Stops the blocks that the client has."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.message = ClientMessage(context)
        self._moved = False
        """Whether any block has another place than its index."""

    def close(self, block: ClientBlock) -> None:
        """Stop a block whose stop has not come."""
        self._stop_now(block, Stop.MADE)

    def close_whole(self, *, failed: bool, stopped: bool) -> None:
        """The message is over: stop calls that are whole, and send what was kept of the others.

        `stopped`: it has stopped, too. Before that deltas may come: a call without any is not known to be whole.
        """
        for block in list(self.message.open.values()):
            if not (stopped or block.arguments.begun):
                continue
            message = "no content_block_stop came for the call"
            if not block.whole_call or failed:
                self.flush(block)
            elif self.report(UNCLOSED_CALL, self.number, message, block.call):
                self.close(block)

    def flush(self, block: ClientBlock) -> None:
        """Send what was kept of a block that is not stopped, as it came: nothing of it may be lost."""
        for text in block.arguments.kept():
            self.put(block.new_delta(text))
        self.flush_texts(block)

    def flush_open(self) -> None:
        """The same of all blocks."""
        for block in self.message.open.values():
            self.flush(block)

    def flush_texts(self, block: ClientBlock) -> None:
        """Send the text that came inside a call where it came, before whatever follows it."""
        texts, block.texts = block.texts, []
        for frame, payload in texts:
            moved = block.moved_to_place(payload)
            self._pass(frame, payload, moved if "type" in payload else {"type": "content_block_delta", **moved})

    def _stop_now(self, block: ClientBlock, stop: Stop) -> None:
        self._finish_block(block, stop)
        self.put(block.new_stop())
        self._text_after(block)

    def _finish_block(self, block: ClientBlock, stop: Stop) -> None:
        """Send what has to be said of a block before its stop."""
        for text in block.arguments.rest():
            self.put(block.new_delta(text))
        block.stop(stop)
        self.message.open.pop(block.place, None)

    def _text_after(self, block: ClientBlock) -> None:
        """Send text that came inside a call as a block of its own; APIs refuse one of nothing but white space."""
        text = "".join([one.payload["delta"]["text"] for one in block.texts])
        block.texts = []
        if not text.strip():
            return
        place = {"index": self.message.count}
        self.message.count += 1
        self._moved = True
        self.put({"type": "content_block_start", **place, "content_block": {"type": "text", "text": ""}})
        self.put({"type": "content_block_delta", **place, "delta": {"type": "text_delta", "text": text}})
        self.put({"type": "content_block_stop", **place})
