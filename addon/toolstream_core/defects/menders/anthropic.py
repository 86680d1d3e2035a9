"""Anthropic Messages streams, judged and mended: content blocks, one after the other, in their places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.ending import (
    IN_BAND_ERROR,
    OVERLAPPING_BLOCKS,
    REPEATED_START,
)
from toolstream_core.defects.framing import NULL_USAGE, RESTARTED_STREAM
from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID
from toolstream_core.defects.menders.anthropic_blocks import BlocksMender, Held
from toolstream_core.model import Kind
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import Heard, OpenCall
    from toolstream_core.defects.menders.anthropic_block import Block
    from toolstream_core.model import Event, Json, Passed
    from toolstream_core.wire.frame import Frame

# The client gets blocks one after the other, each at the next place, whatever indexes the wire gives them. So every
# block knows its place (`Block.place`), and an event is rewritten where its index is another. A block that starts
# while the one before it is still being written waits, with all its events, until that one has stopped; so does a
# block that may only say an earlier call again.

_ENDS_DELTA: Final = frozenset({"content_block_start", "content_block_stop", "message_delta", "message_stop", "error"})
"""Events behind which no delta of the block is expected; a ping goes ahead of one that waits."""
MAX_WAITING = 4096
"""Events of blocks that wait before all are let go."""


class AnthropicMender(BlocksMender):
    """Judges and mends one Messages stream."""

    @property
    def holding(self) -> bool:
        """As `Stage.holding`; also while a block is open or indexes are moved, which concerns events of every kind."""
        return self._moved or bool(self._waiting) or bool(self.blocks and self.blocks[-1].open)

    def minds(self, call: OpenCall) -> bool:
        """As `Stage.minds`."""
        block = self.blocks[-1] if self.blocks else None
        if block is None or block.call is not call or self._waiting or self._placeholder is not None:
            return True
        return self._restarted or not (block.open and block.amid)

    def went_by(self, call: OpenCall, passed: Passed) -> None:
        """As `Stage.went_by`."""
        del call
        self.number = passed.first + passed.events - 1
        self.blocks[-1].went_by(passed.text, passed.last)

    @property
    def minds_text(self) -> bool:
        """As `Stage.minds_text`: text of the block that is open, or was, goes on where nothing waits or moves."""
        return self._moved or bool(self._waiting) or self._placeholder is not None

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        if event.frame.data is None or self._restarted:
            return (event.frame,)
        self._unsent = self._held()
        out = self._taken(event, heard[0].call if heard else None)
        self.went(event.frame, out, waits=self._placeholder is not None)
        self._unsent = None
        return out

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`."""
        self._out, self._unsent = [], self._held()
        self._settle_placeholder()
        self._let_go()
        self._ending.at_end(clean=clean and not self._restarted)
        self.went(None, self._out)
        self._unsent = None
        return self._out

    def release(self) -> Iterable[Frame]:
        """As `Stage.release`: after a bug of ours, what was held when the event came at which it showed."""
        held = self._unsent or self._held()
        owed = [] if held.block is None else self._owed(held.block, stop=held.stop_owed)
        return [
            *owed,
            *([held.placeholder[0]] if held.placeholder else []),
            *(event.frame for event, _ in held.waiting),
        ]

    def _held(self) -> Held:
        block = self.blocks[-1] if self.blocks and self.blocks[-1].open else None
        return Held(self._placeholder, list(self._waiting), block, stop_owed=block is not None and block.stop_owed)

    def _taken(self, event: Event, call: OpenCall | None) -> list[Frame]:
        self._out = []
        self._one(event, call)
        if len(self._waiting) > MAX_WAITING:
            self._let_go()
        return self._out

    def _one(self, event: Event, call: OpenCall | None) -> None:
        payload, self.number = event.frame.json, event.frame.number
        kind = payload.get("type", event.frame.name) if isinstance(payload, dict) else event.frame.name
        if kind in _ENDS_DELTA and self._placeholder is not None:
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
            if self._head == payload and not self.blocks:
                if self.tell(REPEATED_START, self.number, "the message starts again"):
                    return
            elif self._head is not None:
                self.tell(RESTARTED_STREAM, self.number, "a second message starts within the stream")
                self._restarted = True
                self._moved = False
            self._head = payload
            message = payload.get("message")
            bare = isinstance(message, dict) and not isinstance(message.get("usage"), dict)
            if bare and self.tell(NULL_USAGE, self.number, "message_start has no usage"):
                usage = {"input_tokens": 0, "output_tokens": 0}
                changed = {**payload, "message": {**payload["message"], "usage": usage}}
        elif kind in {"message_delta", "message_stop"}:
            self._let_go()
            ended = self._ending.ending(payload, kind)
            if ended is None:
                return
            changed = ended
        self._pass(event.frame, payload, changed)

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
