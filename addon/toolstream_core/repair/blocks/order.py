"""Sends blocks one after the other: events wait for the end of the block before, and while they may change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolstream_core.calls import OpenCall, ResolvedFragment
from toolstream_core.defects.arguments import SNAPSHOT_ARGUMENTS
from toolstream_core.defects.finish import CUT_OFF_CALL, OVERLAPPING_BLOCKS, UNCLOSED_CALL
from toolstream_core.defects.identity import DOUBLED_CALL, LATE_ID, LATE_NAME, MISSING_ID, UNKNOWN_BLOCK
from toolstream_core.model import ABSENT, Event
from toolstream_core.repair.blocks.events import BlockEvents, BlockStarts
from toolstream_core.repair.blocks.message import Block, BlockState, Waiting, has_none
from toolstream_core.repair.blocks.protocol import ARGUMENTS, INDEX, TYPE, UNKNOWN_EVENT, BlockEvent, number_of
from toolstream_core.repair.blocks.stream import BlockStream
from toolstream_core.stages.inject.codec import What

PATIENCE: Final = 8
"""The most events without a block that wait after a first `{}`."""


class BlockOrder:
    """Sends the blocks of one stream in order."""

    def __init__(self, stream: BlockStream, client: BlockEvents, starts: BlockStarts) -> None:
        self._stream, self._client, self._starts = stream, client, starts
        self.context, self.protocol, self.message = stream.context, stream.protocol, stream.message

    def take_blocks(self, event: Event, parsed: BlockEvent, resolved: Sequence[ResolvedFragment]) -> None:
        found = list(_calls(event, resolved))
        defect, parts = (None, [parsed]) if self.protocol.split is None else self.protocol.split(parsed)
        first_call = found[0] if found else None
        if defect is not None and not self._stream.report(defect, "the entries come in another container", first_call):
            self._stream.send(event.frame, parsed)
            self.message.has_unassigned = True
            return
        for at, part in enumerate(parts):
            call = found[at] if at < len(found) else None
            size = 0 if call is None else call.arguments.size
            self._take_block(Waiting(event, part, call, size, first=at == 0))

    def _take_block(self, one: Waiting) -> None:
        message = self.message
        if one.parsed.what is What.START:
            block: Block | None = self._started(one)
        else:
            block = self._owner(one)
        if block is not None and one.call is not None and block.seen != one.call.arguments.size:
            block.note(one.call)
        if block is None:
            self._client.without_block(one)
            return
        if one.parsed.what is What.STOP and not block.stopped:
            block.stopped = block.placeholder_decided = True
            block.reader.decide(final=True)
        if block.state is BlockState.LEFT_OUT:
            return
        self._queue(block, one)
        if block.order < message.current:
            self._send_decided(block)
        else:
            self._advance()

    def _started(self, waiting: Waiting) -> Block:
        """The block that an event starts, or starts again."""
        message, call = self.message, waiting.call
        known = message.by_call.get(id(call)) if call is not None else None
        if known is not None:
            return known
        protocol, parsed = self.protocol, waiting.parsed
        kind = protocol.get(parsed, TYPE)
        of_type = kind if isinstance(kind, str) else ""
        block = Block(call, protocol.get(parsed, INDEX), len(message.blocks), of_type)
        if message.blocks and not message.blocks[-1].stopped and message.blocks[-1].state is not BlockState.ENDED:
            self._report_overlap(block)
        for before in message.blocks[-1:]:
            before.placeholder_decided = before.placeholder_decided or not (before.call and before.call.incomplete)
        message.blocks.append(block)
        message.by_index[block.number] = block
        if call is not None:
            message.by_call[id(call)] = block
        return block

    def _report_overlap(self, block: Block, why: str = "a block starts before the one before it has stopped") -> bool:
        """Report that this block starts inside the one before it. Returns whether to repair that."""
        return self._stream.report(OVERLAPPING_BLOCKS, why, block.call)

    def _owner(self, waiting: Waiting) -> Block | None:
        """The block of a delta or a stop."""
        message = self.message
        if waiting.call is not None:
            return message.by_call.get(id(waiting.call))
        given = self.protocol.get(waiting.parsed, INDEX)
        index = number_of(given)
        block = message.by_index.get(index)
        if block is None and given is ABSENT and not self.protocol.implicit:
            block = self._only_open()
        has_text, stops = (
            bool(waiting.event.content.text or waiting.event.content.thought),
            waiting.parsed.what is What.STOP,
        )
        if block is None and self.protocol.implicit and (has_text or stops):
            block = Block(None, self.protocol.get(waiting.parsed, INDEX), -1)
            block.state = BlockState.OPEN
            message.by_index[index] = block
            self._starts.find_place(block)
        elif block is None and waiting.event.content.text and message.head is not None:
            block = self._starts.start_text(waiting)
        return block

    def _only_open(self) -> Block | None:
        """The block of an event without an index: the one that is open, if that is no call."""
        open_blocks = [block for block in self.message.blocks[-2:] if not block.stopped]
        return open_blocks[0] if len(open_blocks) == 1 and open_blocks[0].call is None else None

    def _queue(self, block: Block, one: Waiting) -> None:
        """Adds an event to the block's queue; a delta goes before an early stop."""
        last = block.waiting[-1].parsed if block.waiting else None
        after_stop = last is not None and last.what is What.STOP
        precedes_stop = after_stop and one.parsed.what is What.DELTA and self._report_late(block)
        block.waiting.insert(len(block.waiting) - int(precedes_stop), one)
        self.message.waiting += 1

    def _report_late(self, block: Block) -> bool:
        """Report that a delta follows the stop of its block. Returns whether to repair that."""
        message = self.message
        if message.current + 1 < len(message.blocks):
            why = "a delta follows the stop of its block and the start of the next one"
            return self._report_overlap(message.blocks[message.current + 1], why)
        return self._stream.report(UNKNOWN_BLOCK, "the block of a delta has stopped", block.call)

    def _current_block(self) -> Block | None:
        """The block whose events are sent now."""
        blocks, turn = self.message.blocks, self.message.current
        return blocks[turn] if turn < len(blocks) else None

    def _advance(self, *, all_go: bool = False) -> None:
        """Send the waiting events whose turn it is and that are decided."""
        message = self.message
        while (block := self._current_block()) is not None:
            self._send_decided(block)
            if not block.finished:
                later = message.current + 1 < len(message.blocks)
                if later and self._may_close(block):
                    if not self._report_overlap(message.blocks[message.current + 1]):
                        self._stream.attribute_to(UNCLOSED_CALL)
                    self._client.close(block)
                elif not (all_go or (later and not self._stream.on(OVERLAPPING_BLOCKS))):
                    break
                elif later and all_go:
                    self._client.send_foreign(None)
            message.current += 1

    def _may_close(self, block: Block) -> bool:
        """Whether a stop may be added to a block because the next one starts."""
        if (
            block.state is not BlockState.OPEN
            or block.waiting
            or not (self._stream.on(OVERLAPPING_BLOCKS) or self._stream.on(UNCLOSED_CALL))
        ):
            return False
        call = block.call or block.server_call
        if call is None:
            return True
        begun = not call.arguments.empty or call.start_input is not None
        return begun and self._client.has_all_arguments(block, call) and not block.may_stand_for_more

    def _send_decided(self, block: Block) -> None:
        """Send the events of one block that are decided."""
        number = self._stream.number
        while block.waiting and not self._undecided(block, block.waiting[0]):
            one = block.waiting.popleft()
            self.message.released.append(one.event.frame)
            self.message.waiting -= 1
            self._stream.number = one.event.frame.number
            match one.parsed.what:
                case What.START:
                    self._starts.start(block, one)
                case What.DELTA:
                    self._client.delta(block, one)
                case What.STOP:
                    self._client.stop(block, one)
                case _:
                    self.send_other(one.event, one.parsed)
            if block.state is BlockState.LEFT_OUT:
                self._leave_out(block)
        self._stream.number = number

    def _leave_out(self, block: Block) -> None:
        """Drop the waiting events of a call that is left out, and send the other ones."""
        others = [each for each in block.waiting if each.parsed.what is What.OTHER]
        self.message.waiting -= len(block.waiting)
        block.waiting.clear()
        for each in others:
            self.send_other(each.event, each.parsed)

    def _undecided(self, block: Block, waiting: Waiting) -> bool:
        """Whether a later event may change the frames to send for this one."""
        call = block.call
        if call is None or waiting.parsed is UNKNOWN_EVENT:
            return False
        if waiting.parsed.what is What.STOP and block.state is BlockState.OPEN and len(block.waiting) == 1:
            lacks = has_none(call) and not self.context.may_be_empty(call.name)
            if call.incomplete or lacks:
                return self._stream.on(CUT_OFF_CALL) and not self.message.sends_stops
        if block.identified:
            return False
        if block.state is BlockState.NOTHING:
            return self._identity_waits(block)
        if waiting.parsed.what is not What.DELTA:
            return False
        if block.reader.suspect is not None and (not block.reader.suspect or waiting.size == call.arguments.size):
            return True
        if block.reader.last_object is not None and self._stream.on(SNAPSHOT_ARGUMENTS):
            return True
        return self.protocol.get(waiting.parsed, ARGUMENTS) is not ABSENT and block.may_stand_for_more

    def _identity_waits(self, block: Block) -> bool:
        """Whether a later event may change the id or name of a call, or show that it repeats another."""
        call = block.call
        if call is None or block.stopped:
            return False
        lacks = (not call.id and (self._stream.on(LATE_ID) or self._stream.on(MISSING_ID))) or (
            not call.name and self._stream.on(LATE_NAME)
        )
        if self.protocol.late_identity and lacks and call.arguments.empty:
            return True
        return self._stream.on(DOUBLED_CALL) and self._starts.repeats(block) is not False  # more of it may come

    def send_all(self) -> None:
        """Send all waiting events without later ones."""
        for block in self.message.blocks:
            if block.waiting or block.order >= self.message.current:
                block.identified = block.placeholder_decided = True
                block.reader.decide(final=self.message.sends_stops)
        self._advance(all_go=True)
        for block in self.message.blocks:
            if block.waiting:
                self._send_decided(block)

    def take_other(self, event: Event, parsed: BlockEvent) -> None:
        """Queue an event without a block after the waiting ones, up to `PATIENCE` events."""
        block = self._current_block()
        if block is None or not block.waiting:
            self.send_other(event, parsed)
            return
        block.waiting.append(Waiting(event, parsed))
        self.message.waiting += 1
        if sum(one.call is None for one in block.waiting) > PATIENCE:
            block.placeholder_decided = True
        self._advance()

    def send_other(self, event: Event, parsed: BlockEvent) -> None:
        if parsed is UNKNOWN_EVENT:
            self._stream.put(event.frame)
        else:
            self._stream.send(event.frame, parsed)


def _calls(event: Event, resolved: Sequence[ResolvedFragment]) -> Iterator[OpenCall | None]:
    """The call of each fragment; fragments of a frame that an earlier stage rewrote are equal, not identical."""
    at = 0
    for fragment in event.content.fragments:
        known, call = resolved[at] if at < len(resolved) else (None, None)
        is_its = known is fragment or known == fragment
        at += is_its
        yield call if is_its else None
