"""Anthropic content blocks on their way to the client: started, filled and stopped one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.defects.ending import (
    OVERLAPPING_BLOCKS,
    REPEATED_START,
    REPEATED_STOP,
    UNCLOSED_CALL,
)
from toolstream_core.defects.framing import FOREIGN_DELTA, MISSING_EVENT_NAME
from toolstream_core.defects.identity import OFFSET_INDEX, REUSED_INDEX, UNKNOWN_BLOCK
from toolstream_core.defects.menders.anthropic_block import Block
from toolstream_core.defects.menders.anthropic_ending import Endings
from toolstream_core.defects.stage import Context, Mender
from toolstream_core.dialects import request

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.menders.told import Told
    from toolstream_core.model import Event, Json
    from toolstream_core.wire.frame import Frame

# The client gets blocks one after the other, each at the next place, whatever indexes the wire gives them. So every
# block knows its place (`Block.place`), and an event is rewritten where its index is another. A block that starts
# while the one before it is still being written waits, with all its events, until that one has stopped; so does a
# block that may only say an earlier call again.

NAMED: Final = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
    }
)

type Waiting = tuple[Event, OpenCall | None]
type Placeholder = tuple[Frame, dict[str, Json], Block]


class Held(NamedTuple):
    """What the client has not got of the events so far."""

    placeholder: Placeholder | None
    waiting: list[Waiting]
    block: Block | None
    """The block that is open."""
    stop_owed: bool


class BlocksMender(Mender):
    """Judges and mends content blocks; which of them have to wait is decided in the class made on it."""

    def __init__(self, context: Context) -> None:
        """As `Mender`."""
        super().__init__(context)
        self.context = context
        self.blocks: list[Block] = []
        """In the order in which the client gets them."""
        self._by_index: dict[Json, Block] = {}
        self._waiting: list[Waiting] = []
        self._unsent: Held | None = None
        """What was held when an event came that is still being dealt with."""
        self._out: list[Frame] = []
        self._ending = Endings(self)
        self._placeholder: Placeholder | None = None
        """A delta `{}` that waits for the next event."""
        self._placeholder_told: Told | None = None
        self._moved = False
        self._head: dict[str, Json] | None = None
        """The event that started the message."""
        self._restarted = False
        self._earlier: frozenset[str] | None = None
        self.number = 0

    @property
    def earlier_ids(self) -> frozenset[str]:
        """Ids of the calls of earlier turns, from the request."""
        if self._earlier is None:
            self._earlier = request.earlier_ids(self.context.exchange.request)
        return self._earlier

    def put(self, payload: Json, frame: Frame | None = None) -> None:
        """Let an event go on: `frame` with another payload, or a new one."""
        name = str(payload.get("type", ""))
        if frame is None:
            self._out.append(self.context.writer.make(payload, self.number, name))
        else:
            other = name if frame.name != name and name in NAMED else None
            self._out.append(self.context.writer.rewrite(frame, payload, other))

    def _pass(self, frame: Frame, payload: dict[str, Json], changed: dict[str, Json]) -> None:
        """Let an event go on, as it is where nothing in it changes."""
        kind = payload.get("type")
        nameless = not frame.name and kind in NAMED and b"data:" in frame.raw
        if nameless and self.tell(MISSING_EVENT_NAME, frame.number, "the event has no event line"):
            self.put({**changed}, frame)
        elif changed is payload:
            self._out.append(frame)
        else:
            self._out.append(self.context.writer.rewrite(frame, changed))

    def _start(self, event: Event, payload: dict[str, Json], call: OpenCall | None) -> None:
        index, content = payload.get("index"), payload.get("content_block")
        before = self.blocks[-1] if self.blocks else None
        at = self._by_index.get(index)
        if call is not None and at is not None and at.open and at.call is call:
            if self.tell(REPEATED_START, self.number, "the block starts again", call):
                return
            self._pass(event.frame, payload, payload)
            return
        if before is not None and before.open:
            self.tell(OVERLAPPING_BLOCKS, self.number, "a block starts before the one before it has stopped", call)
            if before.finished and (self.on(OVERLAPPING_BLOCKS) or self.on(UNCLOSED_CALL)):
                self.close(before)
            elif self.on(OVERLAPPING_BLOCKS):
                self._wait(event, call, index)
                return
        block = Block(self, content if isinstance(content, dict) else {}, call, index, len(self.blocks))
        if self._may_repeat(block):
            self._wait(event, call, index)
            return
        self._place(block, index)
        self.blocks.append(block)
        self._by_index[index] = block
        changed = block.header(payload)
        self._pass(event.frame, payload, changed)

    def _place(self, block: Block, index: Json) -> None:
        """Find out whether a block's index is its place."""
        if index == block.place:
            return
        used = any(other.index == index for other in self.blocks)
        if used:
            mend = self.tell(REUSED_INDEX, self.number, f"index {index} is that of an earlier block", block.call)
        else:
            message = f"the index is {index} where {block.place} comes next"
            mend = self.tell(OFFSET_INDEX, self.number, message, block.call)
        if mend:
            block.moved = self._moved = True

    def _delta(self, event: Event, payload: dict[str, Json], call: OpenCall | None) -> None:
        index = payload.get("index")
        if self._waits(index):
            self._wait(event, call, index)
            return
        block = self._by_index.get(index)
        if block is None:
            block = self._only_open(call)
            message = f"no block {index} was started"
            if not self.tell(UNKNOWN_BLOCK, self.number, message, call) or block is None:
                self._pass(event.frame, payload, payload)
                return
            self._by_index[index] = block
            block.moved = self._moved = True
        delta = payload.get("delta")
        text = delta.get("text") if isinstance(delta, dict) and delta.get("type") == "text_delta" else None
        foreign = block.is_call and isinstance(text, str)
        if foreign and self.tell(FOREIGN_DELTA, self.number, "text comes in a block that is a call", block.call):
            block.text += str(text)
            return
        changed = block.delta(payload)
        self._settle_placeholder()
        if block.waiting:
            self._placeholder, self._placeholder_told = (event.frame, payload, block), block.told
            return
        self._pass(event.frame, payload, changed)
        if block.stop_owed and block.finished:
            self._stop_now(block)
            self._go_on()

    def _settle_placeholder(self) -> None:
        """A first `{}` that waited for the next event goes on, or is nothing."""
        if self._placeholder is None:
            return
        (frame, payload, block), self._placeholder = self._placeholder, None
        told = self._placeholder_told
        said = payload["delta"]["partial_json"]
        moved = {**payload, "index": block.place} if block.moved else payload
        if told is not None and told.text != said:
            moved = {**moved, "delta": {**payload["delta"], "partial_json": told.text}}
        self._pass(frame, payload, moved)

    def _stop(self, event: Event, payload: dict[str, Json], call: OpenCall | None) -> None:
        index = payload.get("index")
        if self._waits(index):
            self._wait(event, call, index)
            self._decide(index)
            return
        block = self._by_index.get(index)
        if block is None:
            self.tell(UNKNOWN_BLOCK, self.number, f"no block {index} was started")
            gone = self.on(UNKNOWN_BLOCK) and bool(self.blocks)
        elif not block.open:
            overlapped = block.closed_early
            block.closed_early = False
            gone = overlapped or self.tell(REPEATED_STOP, self.number, "the block stops twice", block.call)
        elif self._waiting and block.is_call and not block.finished:
            block.stop_owed = True
            return
        else:
            self._closing(block)
            changed = {**payload, "index": block.place} if block.moved else payload
            self._pass(event.frame, payload, changed)
            self._text_after(block)
            self._go_on()
            return
        if not gone:
            self._pass(event.frame, payload, payload)

    def close(self, block: Block) -> None:
        """Stop a block whose stop has not come."""
        block.closed_early = True
        self._stop_now(block)

    def _stop_now(self, block: Block) -> None:
        self._closing(block)
        block.stop_owed = False
        self.put(block.stopped)
        self._text_after(block)

    def _closing(self, block: Block) -> None:
        """What has to be said of a block before its stop."""
        block.open = False
        for text in block.rest():
            self.put(block.said(text))

    def _owed(self, block: Block, *, stop: bool) -> list[Frame]:
        """What was taken out of an open block's events, or kept, and has not been said: after a bug of ours."""
        said = [block.said(block.prefilled)] if block.prefilled is not None and not block.given else []
        payloads = [*said, *([block.stopped] if stop else [])]
        return [self.context.writer.make(one, self.number, str(one["type"])) for one in payloads]

    def _text_after(self, block: Block) -> None:
        """Text that came inside a call, in a block of its own; white space is nothing."""
        if not block.text.strip():
            return
        text, block.text = block.text, ""
        content = {"type": "text", "text": ""}
        added = Block(self, content, None, None, len(self.blocks))
        added.open = False
        self.blocks.append(added)
        self._moved = True
        place = {"index": added.place}
        self.put({"type": "content_block_start", **place, "content_block": content})
        self.put({"type": "content_block_delta", **place, "delta": {"type": "text_delta", "text": text}})
        self.put({"type": "content_block_stop", **place})

    def _only_open(self, call: OpenCall | None) -> Block | None:
        """The one open block, where it is the call that a stray delta was put into."""
        open_ones = [block for block in self.blocks if block.open]
        return open_ones[0] if len(open_ones) == 1 and open_ones[0].call is call and call is not None else None

    def _wait(self, event: Event, call: OpenCall | None, index: Json) -> None:
        raise NotImplementedError

    def _waits(self, index: Json) -> bool:
        raise NotImplementedError

    def _decide(self, index: Json) -> None:
        raise NotImplementedError

    def _go_on(self) -> None:
        raise NotImplementedError

    def _may_repeat(self, block: Block) -> bool:
        raise NotImplementedError
