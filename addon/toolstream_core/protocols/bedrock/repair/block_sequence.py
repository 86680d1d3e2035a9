"""Converse blocks on their way to the client: started, filled and stopped one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.finish import REPEATED_START, REPEATED_STOP
from toolstream_core.defects.framing import FOREIGN_DELTA
from toolstream_core.defects.identity import MISSING_INDEX, ODD_INDEX, REUSED_INDEX, UNKNOWN_BLOCK
from toolstream_core.protocols.bedrock.converse_event import (
    INDEX,
    INPUT,
    ConverseEvent,
    event_of,
    with_input,
)
from toolstream_core.protocols.bedrock.repair.blocks import ClientBlocks
from toolstream_core.protocols.bedrock.repair.client_block import Block
from toolstream_core.protocols.bedrock.repair.held import Unsure, Waited
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.wire.frame import Frame

MAX_WAITING: Final = 4096
"""Events that wait before all are let go."""
_OF_A_STOP: Final = frozenset({INDEX, "p"})
"""All that an event says that stops a block."""


class BlockRepairer(ClientBlocks):
    """Judges and repairs blocks that do not wait for others."""

    def _begin(self, one: Waited, event: ConverseEvent, *, again: bool) -> None:
        """Give the client a block that is a call."""
        assert one.call is not None
        used = event.index in self._by_index or event.index in self._others or self._indexes.has(event.index)
        self._flush_text()
        place = self._indexes.of_block(event, self._why_moved(event, one.call), used=used)
        block = Block(self.message, event, one.call, place, again=again)
        self._current = self._by_call[id(one.call)] = self._by_index[event.index] = block
        self.pass_on(one.event.frame, event, block.header(event.body))
        if block.is_call:
            self.calls.append(block)
            if block.given_id:
                self.by_id.setdefault(block.given_id, []).append(block)
                self.message.given_ids.add(block.given_id)

    def _start_again(self, frame: Frame, event: ConverseEvent, block: Block) -> None:
        """The start of a block that is open comes again: it goes where at most the beginning of a value came.

        Behind whole arguments, or such as cannot become any, nobody knows what it is for: clients forget them there.
        Behind half of them it is sent after all where the next delta begins anew.
        """
        gone = self.report(REPEATED_START, self.message.number, "the block starts again", block.call)
        if block.call.at_most_begun and block.is_started_by(event):
            if gone:
                block.left_out = frame
                return
        else:
            self._settle()
            self._forget(block)
        self._flush_text()
        self._by_index[event.index] = block
        self.pass_on(frame, event, block.at_place(event.body))

    def _forget(self, block: Block) -> None:
        """The client is given the start of a block once more, and forgets its arguments."""
        self.flush(block)
        block.begin_anew()

    def _bring_start(self, block: Block, *, anew: bool) -> None:
        """Send a start that was left out, where `anew`: behind half of the arguments they begin once more."""
        left_out, block.left_out = block.left_out, None
        event = event_of(left_out) if left_out is not None and anew else None
        if left_out is not None and event is not None:
            self._forget(block)
            self.pass_on(left_out, event, block.at_place(event.body))

    def _start_beside(self, one: Waited, event: ConverseEvent) -> None:
        """The start of a block that is no call."""
        self._before_start(event)
        self._by_index.pop(event.index, None)
        self.pass_on(one.event.frame, event, self._beside_calls(event))

    def _why_moved(self, event: ConverseEvent, call: OpenCall) -> Row | None:
        """The defect for which a block gets another index than the event that starts it has; `None` for no defect."""
        given, row = event.body.get(INDEX), self._indexes.made_up_for(event.index)
        if given is None:
            row, message = MISSING_INDEX, "the block starts without an index"
        elif type(given) is not int or given < 0:
            row, message = ODD_INDEX, f"the index is {given!r}"
        elif given in self._by_index:
            row, message = REUSED_INDEX, f"index {given} is that of an earlier block"
        else:
            if row is not None:
                self.because(row)
            return row
        return row if self.report(row, self.message.number, message, call) else None

    def _other_delta(self, one: Waited, event: ConverseEvent) -> None:
        """A delta of text, reasoning or anything else that is not a call."""
        self._before_text()
        block = self._block_of_text(event)
        text = json_access.get(event.body, "delta", "text")
        foreign = block is not None and block.is_call and block.open and isinstance(text, str)
        message = "text comes in a block that is a call"
        if foreign and block is not None and self.report(FOREIGN_DELTA, self.message.number, message, block.call):
            self._settle_unsure()
            self._keep_text(block, str(text))
            return
        open_call = self._current
        if isinstance(text, str) and open_call is not None and open_call.open and open_call.texts:
            self.because(FOREIGN_DELTA)
            self._keep_text(open_call, text)
            return
        self._settle_unsure()
        if isinstance(text, str):
            self._flush_text()
        self.pass_on(one.event.frame, event, self._beside_calls(event))

    def _block_of_text(self, event: ConverseEvent) -> Block | None:
        """The call in whose block a delta of text comes."""
        return self._by_index.get(event.index)

    def _fill(self, frame: Frame, event: ConverseEvent, block: Block) -> None:
        """A delta of the arguments under their own index, or one that was taken for such."""
        if not block.open:
            # What says no index is not put behind the stop that was made for a block: its arguments are whole.
            nobodys = block.closed_early and event.index is None
            if json_access.get(event.body, *INPUT):
                block.late = True
                self._spoilt(block)
            self.pass_on(frame, event, event.body if nobodys else block.at_place(event.body))
            return
        piece = json_access.get(event.body, *INPUT)
        if piece and block.left_out is not None:
            self._bring_start(block, anew=block.is_restarted_by(piece))
        changed = block.delta(event.body)
        waits = block.waiting
        if self._unsure and not (waits and block.placeholder and len(self._unsure) < MAX_WAITING):
            self._let_unsure_go()
        if waits:
            self._unsure.append(Unsure(frame, event, changed, block, block.emitted))
        else:
            self.pass_on(frame, event, changed)

    def _spoilt(self, block: Block) -> None:
        """Arguments come behind the stop of a block."""
        raise NotImplementedError

    def _settle(self) -> None:
        """Nothing comes any more that could change what waits."""
        self._settle_unsure()

    def _settle_unsure(self) -> None:
        """Nothing comes any more that could change what a first `{}` means."""
        if self._unsure:
            self._unsure[-1].block.settle()
        self._let_unsure_go()

    def _before_text(self) -> None:
        """A delta comes that is of no call: a block whose stop waits is stopped before it."""
        raise NotImplementedError

    def _before_start(self, event: ConverseEvent) -> None:
        """Another block starts: what waits may be that one's."""
        raise NotImplementedError

    def _let_unsure_go(self) -> None:
        unsure, self._unsure = self._unsure, []
        for frame, event, body, _, emitted in unsure:
            text = json_access.get(body, *INPUT)
            changed = body if emitted is None or emitted.text == text else with_input(body, emitted.text)
            self.pass_on(frame, event, changed)

    def _stop(self, one: Waited, event: ConverseEvent) -> None:
        """The stop of a block."""
        self._settle_unsure()
        frame, bare = one.event.frame, event.body.keys() <= _OF_A_STOP
        block = self._by_call.get(id(one.call)) or self._by_index.get(event.index) or self._left_open(event)
        overtaken = event.index not in self._by_index and event.index in self._others
        if block is None or (overtaken and event.index == block.index is not None):
            self.pass_on(frame, event, self._beside_calls(event))
        elif block.open:
            self._close_arguments(block)
            named = event.index in {None, block.index}
            moved = named or self.report(
                UNKNOWN_BLOCK, self.message.number, f"no block {event.index} was started", block.call
            )
            self.pass_on(frame, event, block.at_place(event.body) if moved else event.body)
            self._text_after(block)
        else:
            early, block.closed_early = block.closed_early, False
            if not early:
                early = self.report(REPEATED_STOP, self.message.number, "the block stops twice", block.call)
            if not (early and bare):
                self.pass_on(frame, event, block.at_place(event.body))

    def _left_open(self, event: ConverseEvent) -> Block | None:
        """The open call that lacks nothing but its stop, where one comes of an index that no event has had."""
        block = self._current
        if block is None or not block.open or event.index in self._others:
            return None
        return block if block.finished or block.prefilled else None
