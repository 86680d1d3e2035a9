"""Anthropic content blocks in order: which have to wait for their turn, and which only repeat an earlier call."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.calls.json_text import meaning
from toolstream_core.defects.finish import OVERLAPPING_BLOCKS, REPEATED_START
from toolstream_core.defects.framing import FOREIGN_DELTA
from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID
from toolstream_core.protocols.anthropic.repair.block_mode import Stop
from toolstream_core.protocols.anthropic.repair.client_block import ClientBlock, InnerText
from toolstream_core.protocols.anthropic.repair.events import Payload, adds, arguments_of, index_of, is_text, says_text
from toolstream_core.protocols.anthropic.repair.held import Waited
from toolstream_core.protocols.anthropic.repair.unknown_blocks import UnknownBlockRepairer

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Event
    from toolstream_core.protocols.anthropic.repair.held import Queue
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

# A block that starts while the one before it is still being written waits, with all its events, until that one has
# stopped; so does a block that may only repeat an earlier call, and whatever starts behind one that waits.


class OrderRepairer(UnknownBlockRepairer):
    """Sends blocks one after the other."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._doubled: Queue | None = None
        """The last block that was dropped because it repeated an earlier call."""
        self._unsent: list[Frame] = []
        """What stopped waiting at the event that is still being repaired."""
        self._sending = False
        """Whether the events of a block that waited are being sent: no other block's go between them."""

    def _queue_of(self, payload: Payload, call: OpenCall | None) -> Queue | None:
        """The waiting block to which an event belongs. Text that would overtake text that waits is of none any more."""
        queue = self._belongs_to(payload, call)
        if says_text(payload) and self._waiting.is_overtaken(queue):
            self.let_go()
            return None
        return queue

    def _belongs_to(self, payload: Payload, call: OpenCall | None) -> Queue | None:
        """The same; arguments belong to the block of the call they resolved to.

        Text of no block comes behind that of the blocks that wait.
        """
        index = index_of(payload)
        queue = self._waiting.of(index)
        if call is None and queue is None and is_text(payload) and index not in self.message.by_index:
            return self._waiting.newest
        if call is None or (queue is not None and queue.start.call is not None):
            return queue
        if queue is None and index not in self.message.by_index:
            return self._waiting.of_call(call) or (None if id(call) in self.message.by_call else self._waiting.newest)
        if queue is None:
            return None
        own = self.message.by_call.get(id(call))
        return None if own is not None and own.has(index) else queue

    @override
    def _begin(self, block: ClientBlock, event: Event, payload: Payload) -> None:
        self._flush_others(None)
        super()._begin(block, event, payload)

    @override
    def _delta(self, event: Event, payload: Payload, call: OpenCall | None) -> None:
        if call is None and says_text(payload):
            self._flush_others(self.message.block_of(index_of(payload), None))
        super()._delta(event, payload, call)

    def _flush_others(self, block: ClientBlock | None) -> None:
        """Text comes in `block`, or another one begins: text that came inside the calls that are open goes on first."""
        for other in self.message.open.values():
            if other is not block:
                self.flush_texts(other)

    def _wait(self, event: Event, payload: Payload, block: ClientBlock) -> None:
        self._waiting.begin(index_of(payload), Waited(event, payload, block.call, stops=False))

    def _before_start_again(self, index: int | None, call: OpenCall | None) -> None:
        """A block that waits starts again: what it has so far goes on where text waits that came before that."""
        queue = self._waiting.of(index)
        if queue is not None and queue.start.call is call and self._waiting.is_overtaken(queue):
            self.let_go()

    def _start_again(self, event: Event, payload: Payload, block: ClientBlock) -> None:
        """The start of an open block, repeated: dropped if it adds nothing, and at most the beginning of a value came.

        Behind whole arguments, or such as cannot become any, nobody knows what it is for: clients forget them there.
        Behind half of them it is sent after all where the next delta begins anew.
        """
        drop = self.report(REPEATED_START, self.number, "the block starts again", block.call)
        if block.call is not None and block.call.at_most_begun and not adds(block.started_as, payload):
            if drop:
                block.arguments.left_out = (event.frame, payload)
                return
        else:
            self._settled()
            self.let_go()
            self._forget(block)
        self._flush_others(block)
        content = payload.get("content_block")
        block.started_as = content if isinstance(content, dict) else {}
        self._pass(event.frame, payload, block.header_again(payload))

    def _forget(self, block: ClientBlock) -> None:
        """The client is given the start of a block once more, and forgets its arguments."""
        self.flush(block)
        block.arguments.begin_anew()

    @override
    def _filled(self, event: Event, payload: Payload, block: ClientBlock) -> None:
        piece = arguments_of(payload) if block.arguments.left_out is not None else ""
        if piece:
            anew = isinstance(piece, str) and block.arguments.repair.restarted_by(piece)
            self._bring_start(block, anew=anew)
        super()._filled(event, payload, block)

    def _bring_start(self, block: ClientBlock, *, anew: bool) -> None:
        """Send a start that was left out, where the arguments begin `anew` behind it."""
        left_out, block.arguments.left_out = block.arguments.left_out, None
        if anew and left_out is not None:
            self.let_go()
            self._forget(block)
            frame, start = left_out
            self._pass(frame, start, block.header_again(start))

    def _block(self, payload: Payload, call: OpenCall | None) -> ClientBlock:
        content = payload.get("content_block")
        block = content if isinstance(content, dict) else {}
        return ClientBlock(self, block, call, payload.get("index"), self.message.count)

    def _may_repeat(self, block: ClientBlock) -> bool:
        """Whether a call with the id of an earlier one may be that call again."""
        call = block.call
        same_id = self.message.by_id.get(block.given_id, ())
        if call is None or not (block.is_call and block.name in [one.name for one in same_id]):
            return False
        return self.on(DOUBLED_CALL) or self.on(DUPLICATE_ID)

    @override
    def _go_on(self) -> None:
        """Up to a block that is not stopped, or may repeat an earlier call and has not come whole."""
        while self._waiting.events and not (self._sending or (self.message.open and self.on(OVERLAPPING_BLOCKS))):
            queue = self._waiting.first
            if not queue.stopped and self._may_repeat(self._block(queue.start.payload, queue.start.call)):
                return
            self._send_queue(self._waiting.pop())

    def _send_queue(self, queue: Queue) -> None:
        """Send the events of a block that waited, unless it repeats an earlier call."""
        self._unsent += [waited.event.frame for waited in queue.events]
        start = queue.start
        block = self._block(start.payload, start.call)
        if self._may_repeat(block) and self._repeats(queue, block):
            self._started += 1
            self._text_after(block)
            return
        block.texts = []
        self._begin_queue(queue, block)

    def _begin_queue(self, queue: Queue, block: ClientBlock) -> None:
        """Send the events of a block."""
        start, number = queue.start, self.number
        sending, self._sending = self._sending, True
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
        self.number, self._sending = number, sending

    def _repeats(self, queue: Queue, block: ClientBlock) -> bool:
        """Whether a block that waited repeats an earlier call, and says nothing else; reports it."""
        call = block.call
        if call is None or not block.arguments.whole:
            return False
        means = meaning(call.meant()[0])
        earlier = self.message.by_id.get(block.given_id, ())
        same = [one for one in earlier if one.call is not call or one.arguments.repair.mean(means)]
        if not any(one.is_same_call(block.name, means) for one in same):
            return False
        block.texts = [InnerText(one.event.frame, one.payload) for one in queue.events if is_text(one.payload)]
        if not all(waited is queue.start or waited.fills(call) for waited in queue.events):
            return False
        if block.texts:
            self.report(FOREIGN_DELTA, self.number, "text comes in a block that is a call", call)
        if not self.report(DOUBLED_CALL, self.number, "the call was said before", call):
            return False
        self._doubled = queue
        return True

    def _bring_back(self, queue: Queue) -> None:
        """Send a block that was dropped: arguments came behind its stop, so it did not repeat the earlier call."""
        self._doubled = None
        self._started -= 1
        queue.events = [waited for waited in queue.events if not is_text(waited.payload)]
        self._begin_queue(queue, self._block(queue.start.payload, queue.start.call))
        if queue.stopped:
            self._go_on()

    @override
    def _spoilt(self, block: ClientBlock) -> None:
        """A block that only said this one again is sent: it alone may be whole now."""
        doubled = self._doubled
        if doubled is None or not block.given_id:
            return
        if self._block(doubled.start.payload, doubled.start.call).given_id == block.given_id:
            self._bring_back(doubled)

    def _tear(self) -> None:
        """An event could not be read: it may have been anything, also the message's end, so nothing waits behind it.

        Behind a start that came again it may have been what begins anew.
        """
        self.torn = True
        for block in list(self.message.open.values()):
            self._bring_start(block, anew=block.arguments.repair.half)
        self.let_go()

    def _closes(self, block: ClientBlock) -> bool:
        """Whether a block can be stopped so that one that waits can start."""
        return block.open and block.arguments.whole and self.on(OVERLAPPING_BLOCKS)

    @override
    def let_go(self) -> None:
        for block in list(self.message.open.values()):
            if block.stop_owed:
                self._stop_now(block, Stop.OWN)
            elif self._waiting.events and not (block is self.message.last and self._closes(block)):
                self.flush_texts(block)
        while self._waiting.events and not self._sending:
            last = self.message.last
            if last is not None and self._closes(last):
                self.close(last)
            self._send_queue(self._waiting.pop())
            self._settled()
