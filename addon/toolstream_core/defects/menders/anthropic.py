"""Anthropic Messages streams, judged and mended: content blocks, one after the other, in their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.ending import (
    IN_BAND_ERROR,
    OVERLAPPING_BLOCKS,
    REPEATED_START,
    REPEATED_STOP,
    UNCLOSED_CALL,
)
from toolstream_core.defects.framing import FOREIGN_DELTA, MISSING_EVENT_NAME, NULL_USAGE, RESTARTED_STREAM
from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID, OFFSET_INDEX, REUSED_INDEX, UNKNOWN_BLOCK
from toolstream_core.defects.menders.anthropic_block import Block
from toolstream_core.defects.menders.anthropic_ending import Endings
from toolstream_core.defects.stage import Context, Mender
from toolstream_core.dialects import request
from toolstream_core.model import Kind
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import Heard, OpenCall
    from toolstream_core.defects.menders.spelling import Told
    from toolstream_core.model import Event, Json
    from toolstream_core.wire.frame import Frame

# The client gets blocks one after the other, each at the next place, whatever indexes the wire gives them. So every
# block knows its place (`Block.place`), and an event is rewritten where its index is another. A block that starts
# while the one before it is still being written waits, with all its events, until that one has stopped; so does a
# block that may only say an earlier call again.

MAX_WAITING = 4096
"""Events of blocks that wait before all are let go."""
_NAMED = frozenset(
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


class AnthropicMender(Mender):
    """Judges and mends one Messages stream."""

    def __init__(self, context: Context) -> None:
        """As `Mender`."""
        super().__init__(context)
        self.context = context
        self.blocks: list[Block] = []
        """In the order in which the client gets them."""
        self._by_index: dict[Json, Block] = {}
        self._waiting: list[Waiting] = []
        self._frames: list[Frame] = []
        """What waits, as it came."""
        self._out: list[Frame] = []
        self._ending = Endings(self)
        self._placeholder: tuple[Frame, dict[str, Json], Block] | None = None
        """A delta `{}` that waits for the next event."""
        self._placeholder_told: Told | None = None
        self._moved = False
        self._started = self._restarted = False
        self._earlier: frozenset[str] | None = None
        self.number = 0

    @property
    def holding(self) -> bool:
        """As `Stage.holding`; also while a block is open or indexes are moved, which concerns events of every kind."""
        return self._moved or bool(self._waiting) or bool(self.blocks and self.blocks[-1].open)

    @property
    def earlier_ids(self) -> frozenset[str]:
        """Ids of the calls of earlier turns, from the request."""
        if self._earlier is None:
            self._earlier = request.earlier_ids(self.context.exchange.request)
        return self._earlier

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        if event.frame.data is None or self._restarted:
            return (event.frame,)
        if self._waiting:
            self._frames.append(event.frame)
        out = self._taken(event, heard[0].call if heard else None)
        if len(out) != 1 or out[0] is not event.frame:
            self.audit(event.frame.number, [event.frame], out)
        return out

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`."""
        self._out = []
        self._settle_placeholder()
        self._let_go()
        self._ending.at_end(clean=clean and not self._restarted)
        if self._out:
            self.audit(self.number, [], self._out)
        return self._out

    def release(self) -> Iterable[Frame]:
        """As `Stage.release`."""
        first = [self._placeholder[0]] if self._placeholder else []
        frames, self._frames, self._placeholder = self._frames, [], None
        self._waiting = []
        return [*first, *frames]

    def put(self, payload: Json, frame: Frame | None = None) -> None:
        """Let an event go on: `frame` with another payload, or a new one."""
        name = str(payload.get("type", ""))
        if frame is None:
            self._out.append(self.context.writer.make(payload, self.number, name))
        else:
            other = name if frame.name != name and name in _NAMED else None
            self._out.append(self.context.writer.rewrite(frame, payload, other))

    def _taken(self, event: Event, call: OpenCall | None) -> list[Frame]:
        self._out = []
        self._one(event, call)
        if len(self._waiting) > MAX_WAITING:
            self._let_go()
        return self._out

    def _one(self, event: Event, call: OpenCall | None) -> None:
        payload, self.number = event.frame.json, event.frame.number
        kind = payload.get("type", event.frame.name) if isinstance(payload, dict) else event.frame.name
        if kind != "content_block_delta" and self._placeholder is not None:
            self._placeholder[2].settle()
            self._settle_placeholder()
        if event.said.error:
            self._ending.failed = True
            self.tell(IN_BAND_ERROR, self.number, f"the provider reports an error: {event.said.error}")
        if not isinstance(payload, dict):
            self._out.append(event.frame)
            return
        match kind:
            case "content_block_start":
                self._start(event, payload, call)
            case "content_block_delta":
                self._delta(event, payload, call)
            case "content_block_stop":
                self._stop(event, payload, call)
            case _:
                self._other(event, payload, str(kind))

    def _other(self, event: Event, payload: dict[str, Json], kind: str) -> None:
        """Whatever concerns no block: the message's begin and end, and keep-alives."""
        changed = payload
        if kind == "message_start":
            if self._started:
                self.tell(RESTARTED_STREAM, self.number, "a second message starts within the stream")
                self._restarted = True
                self._moved = False
            self._started = True
            message = payload.get("message")
            bare = isinstance(message, dict) and not isinstance(message.get("usage"), dict)
            if bare and self.tell(NULL_USAGE, self.number, "message_start has no usage"):
                usage = {"input_tokens": 0, "output_tokens": 0}
                changed = {**payload, "message": {**payload["message"], "usage": usage}}
        elif kind in {"message_delta", "message_stop"}:
            self._let_go()
            changed = self._ending.ending(payload, kind)
        self._pass(event.frame, payload, changed)

    def _pass(self, frame: Frame, payload: dict[str, Json], changed: dict[str, Json]) -> None:
        """Let an event go on, as it is where nothing in it changes."""
        kind = payload.get("type")
        nameless = not frame.name and kind in _NAMED and b"data:" in frame.raw
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
            self._after(block)
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
        self.put({"type": "content_block_stop", "index": block.place if block.moved else block.index})
        self._after(block)

    def _closing(self, block: Block) -> None:
        """What has to be said of a block before its stop."""
        block.open = False
        for text in block.rest():
            delta = {"type": "input_json_delta", "partial_json": text}
            self.put(
                {"type": "content_block_delta", "index": block.place if block.moved else block.index, "delta": delta}
            )

    def _after(self, block: Block) -> None:
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

    def _may_repeat(self, block: Block) -> bool:
        """Whether a call under another call's id may be that call again."""
        call = block.call
        if call is None or not block.is_call or not (self.on(DOUBLED_CALL) or self.on(DUPLICATE_ID)):
            return False
        if call.closed or call.kind is not Kind.FUNCTION:
            return False
        return any(one.call and one.call.id == call.id and one.call.name == call.name for one in self.blocks if call.id)

    def _waits(self, index: Json) -> bool:
        """Whether the newest block of an index is one that waits."""
        return any(look.get(event.frame.json, "index") == index for event, _ in self._waiting)

    def _wait(self, event: Event, call: OpenCall | None, index: Json) -> None:
        del index
        if not self._waiting:
            self._frames = [event.frame]
        self._waiting.append((event, call))

    def _decide(self, index: Json) -> None:
        """A block that waited has stopped: whether it says an earlier call again."""
        mine = [one for one in self._waiting if look.get(one[0].frame.json, "index") == index]
        call = next((call for _, call in mine if call is not None), None)
        if call is None or any(block.open for block in self.blocks):
            return
        twins = [one for one in self.blocks if one.call and call.id and one.call.id == call.id]
        said = call.arguments.reading()[0]
        again = any(one.says(call.name, said) for one in twins)
        if again and self.tell(DOUBLED_CALL, self.number, "the call was said before", call):
            self._waiting = [one for one in self._waiting if one not in mine]
            return
        self._go_on()

    def _go_on(self) -> None:
        """Whatever waited for a block to stop can go, as far as it has not to wait again."""
        waiting, self._waiting = self._waiting, []
        for event, call in waiting:
            self._one(event, call)

    def _let_go(self) -> None:
        """Nothing waits any longer."""
        for block in self.blocks:
            if block.open and block.stop_owed:
                self._stop_now(block)
            elif block.open and block.whole and self._waiting and self.on(OVERLAPPING_BLOCKS):
                self.close(block)
        for _ in range(len(self._waiting)):
            before = len(self._waiting)
            self._go_on()
            if not self._waiting or len(self._waiting) == before:
                break
        self._out += [event.frame for event, _ in self._waiting]
        self._waiting = []
