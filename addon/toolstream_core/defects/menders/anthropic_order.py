"""Anthropic content blocks in their order: what has to wait for its turn, and what only says an earlier call again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.json_text import meaning
from toolstream_core.defects.ending import OVERLAPPING_BLOCKS, REPEATED_START
from toolstream_core.defects.framing import FOREIGN_DELTA
from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID
from toolstream_core.defects.menders.anthropic_block import Block
from toolstream_core.defects.menders.anthropic_events import Payload, adds, index_of, is_begun, is_text
from toolstream_core.defects.menders.anthropic_strays import StraysMender
from toolstream_core.defects.menders.anthropic_waiting import Inside, Waited

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.menders.anthropic_waiting import Queue
    from toolstream_core.defects.stage import Context
    from toolstream_core.model import Event
    from toolstream_core.wire.frame import Frame

# A block that starts while the one before it is still being written waits, with all its events, until that one has
# stopped; so does a block that may only say an earlier call again, and whatever starts behind one that waits.


class OrderMender(StraysMender):
    """Lets blocks go on one after the other."""

    def __init__(self, context: Context) -> None:
        """As `Mender`."""
        super().__init__(context)
        self._doubled: Queue | None = None
        """The last block that was dropped, since it said an earlier call again."""
        self._unsent: list[Frame] = []
        """What went out of its waiting for the event that is still being dealt with."""

    def _queue_of(self, index: int | None, call: OpenCall | None) -> Queue | None:
        """The block that waits to which an event belongs; arguments belong to the call that they were put into."""
        queue = self._waiting.of(index)
        if call is None or (queue is not None and queue.start.call is not None):
            return queue
        if queue is None and index not in self._by_index:
            return self._waiting.of_call(call) or (None if id(call) in self._by_call else self._waiting.newest)
        if queue is None:
            return None
        own = self._by_call.get(id(call))
        return None if own is not None and own.has(index) else queue

    def _wait(self, event: Event, payload: Payload, block: Block) -> None:
        self._waiting.begin(index_of(payload), Waited(event, payload, block.call, stops=False))

    def _start_again(self, event: Event, payload: Payload, block: Block) -> None:
        """A start of an open block: goes where it says nothing new, and what came is the begin of the arguments.

        Behind whole arguments, or such as cannot become any, nobody knows what it is for: clients forget them there.
        """
        gone = self.tell(REPEATED_START, self.number, "the block starts again", block.call)
        if block.call is not None and is_begun(block.call) and not adds(block.content, payload):
            if gone:
                return
        else:
            self._settled()
            block.begin_anew()
        self._pass(event.frame, payload, block.header_again(payload))

    def _block(self, payload: Payload, call: OpenCall | None) -> Block:
        content = payload.get("content_block")
        return Block(self, content if isinstance(content, dict) else {}, call, payload.get("index"), self.count)

    def _may_repeat(self, block: Block) -> bool:
        """Whether a call under another call's id may be that call again."""
        call = block.call
        if call is None or not block.is_call or not (self.on(DOUBLED_CALL) or self.on(DUPLICATE_ID)):
            return False
        return any(one.name == block.name for one in self.by_id.get(block.given_id, ()))

    def _go_on(self) -> None:
        """The blocks whose turn it is now: up to one that is not stopped, or of which that has to be known."""
        while self._waiting and not (self.open and self.on(OVERLAPPING_BLOCKS)):
            queue = self._waiting.first
            if not queue.stopped and self._may_repeat(self._block(queue.start.payload, queue.start.call)):
                return
            self._play(self._waiting.pop())

    def _play(self, queue: Queue) -> None:
        """The events of a block that waited, unless it says an earlier call again."""
        self._unsent += [waited.event.frame for waited in queue.events]
        start = queue.start
        block = self._block(start.payload, start.call)
        if self._may_repeat(block) and self._again(queue, block):
            self._started += 1
            self._text_after(block)
            return
        block.texts = []
        self._begin_queue(queue, block)

    def _begin_queue(self, queue: Queue, block: Block) -> None:
        """Let the events of a block go on."""
        start, number = queue.start, self.number
        for waited in queue.events:
            self.number = waited.event.frame.number
            if waited is start:
                self._begin(block, waited.event, waited.payload)
            elif waited.stops:
                self._stop(waited.event, waited.payload)
            elif "content_block" in waited.payload:
                self._start_again(waited.event, waited.payload, block)
            else:
                self._delta(waited.event, waited.payload, waited.call)
        self.number = number

    def _again(self, queue: Queue, block: Block) -> bool:
        """Whether a block that waited says an earlier call again, and nothing else; tells it."""
        call = block.call
        if call is None or not block.whole:
            return False
        means = meaning(call.meant()[0])
        if not any(one.says(block.name, means) for one in self.by_id.get(block.given_id, ())):
            return False
        block.texts = [Inside(one.event.frame, one.payload) for one in queue.events if is_text(one.payload)]
        if not all(waited is queue.start or waited.fills(call) for waited in queue.events):
            return False
        if block.texts:
            self.tell(FOREIGN_DELTA, self.number, "text comes in a block that is a call", call)
        if not self.tell(DOUBLED_CALL, self.number, "the call was said before", call):
            return False
        self._doubled = queue
        return True

    def _bring_back(self, queue: Queue) -> None:
        """A call that was said again goes on where it was not: arguments came behind its stop."""
        self._doubled = None
        self._started -= 1
        queue.events = [waited for waited in queue.events if not is_text(waited.payload)]
        self._begin_queue(queue, self._block(queue.start.payload, queue.start.call))

    def _closes(self, block: Block) -> bool:
        """Whether a block can be stopped for the sake of one that waits."""
        return block.open and block.whole and self.on(OVERLAPPING_BLOCKS)

    def let_go(self) -> None:
        """Nothing waits any longer."""
        for block in list(self.open.values()):
            if block.stop_owed:
                self._stop_now(block)
            elif self._waiting and not (block is self.last and self._closes(block)):
                self.flush_texts(block)
        while self._waiting:
            last = self.last
            if last is not None and self._closes(last):
                self.close(last)
            self._play(self._waiting.pop())
            self._settled()
