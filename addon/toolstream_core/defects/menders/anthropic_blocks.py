"""Anthropic content blocks on their way to the client: started, filled and stopped one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.ending import REPEATED_STOP, UNCLOSED_CALL
from toolstream_core.defects.framing import FOREIGN_DELTA
from toolstream_core.defects.identity import OFFSET_INDEX, REUSED_INDEX, UNKNOWN_BLOCK
from toolstream_core.defects.menders.anthropic_ending import Endings
from toolstream_core.defects.menders.anthropic_events import EventsMender, Payload, index_of, is_text, set_apart
from toolstream_core.defects.menders.anthropic_waiting import Inside, Placeholder, Unsure, Waiting
from toolstream_core.dialects import request
from toolstream_core.model import ABSENT
from toolstream_core.wire import look

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.menders.anthropic_block import Block
    from toolstream_core.defects.stage import Context
    from toolstream_core.model import Event, Json
    from toolstream_core.wire.frame import Frame

# The client gets blocks one after the other, each at the next place, whatever indexes the wire gives them. So every
# block knows its place (`Block.place`), and an event is rewritten where its index is another. Blocks that are over
# are found by index or id: an answer may have many thousands of them.

MAX_TWINS = 16
"""Calls of one id with which a further one is compared."""
MAX_UNSURE: Final = 64
"""Deltas that wait behind a first `{}`."""
PATIENCE: Final = 8
"""Keep-alives that wait behind one: where more come the stream is slow."""
_OF_A_STOP: Final = frozenset({"type", "index"})
"""All that an event says that stops a block."""


class BlocksMender(EventsMender):
    """Judges and mends content blocks; which of them have to wait is decided in the class made on it."""

    def __init__(self, context: Context) -> None:
        """As `Mender`."""
        super().__init__(context)
        self.last: Block | None = None
        """The block that started last."""
        self.count = 0
        """How many blocks the client has been given."""
        self.calls: list[Block] = []
        """Those of them that it runs."""
        self.open: dict[int, Block] = {}
        """Those that were not stopped, by their place."""
        self.by_id: dict[str, list[Block]] = {}
        """Calls by the id that the provider gave them."""
        self._by_index: dict[int | None, Block] = {}
        self._by_call: dict[int, Block] = {}
        self._started = 0
        """How many blocks the wire has started, those among them that the client does not get."""
        self._waiting = Waiting()
        self._ending = Endings(self)
        self._placeholder: Placeholder | None = None
        self._moved = False
        self._astray = False
        """Whether arguments came that belong to no call."""
        self._earlier: frozenset[str] | None = None

    @property
    def earlier_ids(self) -> frozenset[str]:
        """Ids of the calls of earlier turns, from the request."""
        if self._earlier is None:
            self._earlier = request.earlier_ids(self.context.exchange.request)
        return self._earlier

    @property
    def whole(self) -> bool:
        """Whether calls came, and nothing is missing of any open block but the stop of a call."""
        return bool(self.calls) and all(one.is_call and one.whole for one in self.open.values())

    @property
    def runnable(self) -> bool:
        """Whether calls came, and each of them can be run."""
        return self.whole and not self._astray and all(one.runnable for one in self.calls)

    def _begin(self, block: Block, event: Event, payload: Payload) -> None:
        """Give the client a block."""
        self._place(block, payload.get("index"))
        self._add(block)
        self._by_index[index_of(payload)] = block
        if block.call is not None:
            self._by_call[id(block.call)] = block
        self._pass(event.frame, payload, block.header(payload))
        if block.is_call and block.given_id:
            twins = self.by_id.setdefault(block.given_id, [])
            twins.append(block)
            del twins[:-MAX_TWINS]

    def _add(self, block: Block) -> None:
        self.last = self.open[block.place] = block
        self.count += 1
        if block.is_call:
            self.calls.append(block)

    def _place(self, block: Block, index: Json) -> None:
        """Find out whether a block's index is its place."""
        expected, self._started = self._started, self._started + 1
        counted = type(index) in {int, float} and index == expected
        if not counted and index_of({"index": index}) in self._by_index:
            self.tell(REUSED_INDEX, self.number, f"index {index} is that of an earlier block", block.call)
        elif not counted:
            self.tell(OFFSET_INDEX, self.number, f"the index is {index} where {expected} comes next", block.call)
        mend = block.place != expected or self.on(OFFSET_INDEX) or self.on(REUSED_INDEX)
        block.moved = mend and not (counted and block.place == expected)
        self._moved = self._moved or block.moved

    def _delta(self, event: Event, payload: Payload, call: OpenCall | None) -> None:
        """A delta of a block that does not wait."""
        index = index_of(payload)
        block = self._block_of(index, call)
        if block is None:
            self._nobodys(event, payload, call)
            return
        if not block.open:
            self._late(event, payload, block)
        elif (
            block.is_call
            and is_text(payload)
            and self.tell(FOREIGN_DELTA, self.number, "text comes in a block that is a call", block.call)
        ):
            block.texts.append(Inside(event.frame, payload))
        else:
            self._filled(event, payload, block)

    def _nobodys(self, event: Event, payload: Payload, call: OpenCall | None) -> None:
        """A delta of a block that was never started."""
        raise NotImplementedError

    def _block_of(self, index: int | None, call: OpenCall | None) -> Block | None:
        """The block of an index; for arguments a call that has it, though another block has it by now."""
        block = self._by_index.get(index)
        if block is None or block.call is not None or call is None:
            return block
        own = self._by_call.get(id(call))
        return own if own is not None and own.has(index) else block

    def _stray(self, event: Event, payload: Payload, *, call: OpenCall | None = None) -> None:
        """An event of a block that nobody started goes on, and becomes none of another block's.

        Arguments of nobody's might, wherever blocks are put in order, and all else where an index is given anew.
        """
        for block in self.open.values() if is_text(payload) else ():
            self.flush_texts(block)
        index = index_of(payload)
        taken = index is not None and 0 <= index < self.count
        self._astray = self._astray or call is not None
        apart = self.on(UNKNOWN_BLOCK) and (taken or call is not None)
        self._pass(event.frame, payload, set_apart(payload) if apart else payload)

    def _filled(self, event: Event, payload: Payload, block: Block) -> None:
        before, changed = self._placeholder, block.delta(payload)
        unsure = Unsure(event.frame, payload, block.told)
        if look.get(payload, "delta", "partial_json") is ABSENT:
            block.settle()
        if before is not None and before.block is block and block.placeholder and len(before.deltas) < MAX_UNSURE:
            before.deltas.append(unsure)
            return
        self._settle_placeholder()
        if block.waiting:
            self._placeholder = Placeholder(block, [unsure])
            return
        self._pass(event.frame, payload, changed)
        if block.stop_owed and block.finished:
            self._stop_now(block)
            self._go_on()

    def _late(self, event: Event, payload: Payload, block: Block) -> None:
        """A delta behind its block's stop: what says nothing new goes where the stop was ours, all else goes on.

        It goes, too, where what came before it was taken from another index.
        """
        changed = block.moved_to_place(payload)
        block.late = block.late or bool(not block.closed_early and look.get(payload, "delta", "partial_json"))
        again = block.closed_early or block.claimed
        if again and block.is_call and isinstance(look.get(payload, "delta", "partial_json"), str):
            mended = block.delta(payload)
            rest = "".join(block.rest())
            if mended is not changed and not rest and not look.get(mended, "delta", "partial_json"):
                return
            block.late = block.late or bool(look.get(payload, "delta", "partial_json"))
        self._pass(event.frame, payload, changed)

    def _settle_placeholder(self) -> None:
        """A first `{}` that waited for the next event goes on, or is nothing."""
        if self._placeholder is None:
            return
        (block, deltas), self._placeholder = self._placeholder, None
        for frame, payload, told in deltas:
            if payload is None or told is None:
                self._go(frame)
                continue
            said = payload["delta"]["partial_json"]
            moved = block.moved_to_place(payload)
            if told.text != said:
                moved = {**moved, "delta": {**payload["delta"], "partial_json": told.text}}
            self._pass(frame, payload, moved)

    def _behind(self, frame: Frame) -> None:
        """Let an event go on that concerns no block: behind a first `{}` that waits, unless that takes long."""
        placeholder = self._placeholder
        if placeholder is not None and len(placeholder.deltas) < PATIENCE:
            placeholder.deltas.append(Unsure(frame, None, None))
            return
        self._settled()
        self._go(frame)

    def _settled(self) -> None:
        """Nothing comes any more that could change what a first `{}` means."""
        if self._placeholder is not None:
            self._placeholder.block.settle()
            self._settle_placeholder()

    def _stop(self, event: Event, payload: Payload) -> None:
        """The stop of a block that does not wait."""
        block = self._by_index.get(index_of(payload))
        bare = payload.get("type") == "content_block_stop" and payload.keys() <= _OF_A_STOP
        if block is None:
            message = f"no block {payload.get('index')} was started"
            gone = self.tell(UNKNOWN_BLOCK, self.number, message) and self.count > 0 and bare
        elif not block.open:
            overlapped = block.closed_early
            block.closed_early = False
            gone = (overlapped or self.tell(REPEATED_STOP, self.number, "the block stops twice", block.call)) and bare
        elif self._waiting and block.is_call and not block.whole:
            block.stop_owed = True
            return
        else:
            self._closing(block)
            self._pass(event.frame, payload, block.moved_to_place(payload))
            self._text_after(block)
            self._go_on()
            return
        if not gone and block is None:
            self._stray(event, payload)
        elif not gone and block is not None:
            self._pass(event.frame, payload, block.moved_to_place(payload))

    def close(self, block: Block) -> None:
        """Stop a block whose stop has not come."""
        block.closed_early = True
        self._stop_now(block)

    def close_whole(self, *, failed: bool) -> None:
        """The message is over: stop calls that are whole, and say what was kept of the others."""
        for block in list(self.open.values()):
            message = "no content_block_stop came for the call"
            if not (block.is_call and block.whole) or failed:
                self.flush(block)
            elif self.tell(UNCLOSED_CALL, self.number, message, block.call):
                self.close(block)

    def flush(self, block: Block) -> None:
        """Say what was kept of a block that is not stopped, as it came: nothing of it may be lost."""
        for text in block.kept():
            self.put(block.said(text))
        self.flush_texts(block)

    def _stop_now(self, block: Block) -> None:
        self._closing(block)
        block.stop_owed = False
        self.put(block.stopped)
        self._text_after(block)

    def _closing(self, block: Block) -> None:
        """What has to be said of a block before its stop."""
        for text in block.rest():
            self.put(block.said(text))
        block.open = False
        self.open.pop(block.place, None)

    def _text_after(self, block: Block) -> None:
        """Text that came inside a call, in a block of its own; APIs refuse one that is nothing but white space."""
        text = "".join(one.payload["delta"]["text"] for one in block.texts)
        block.texts = []
        if not text.strip():
            return
        content = {"type": "text", "text": ""}
        place = {"index": self.count}
        self.count += 1
        self._moved = True
        self.put({"type": "content_block_start", **place, "content_block": content})
        self.put({"type": "content_block_delta", **place, "delta": {"type": "text_delta", "text": text}})
        self.put({"type": "content_block_stop", **place})

    def let_go(self) -> None:
        """Nothing waits any longer."""
        raise NotImplementedError

    def _go_on(self) -> None:
        """A block was stopped: whose turn it is now."""
        raise NotImplementedError
