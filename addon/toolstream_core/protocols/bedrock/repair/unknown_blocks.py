"""Converse deltas that do not say whose they are: held until the call that they belong to shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.calls.strays import MAX_STRAYS, go_on
from toolstream_core.defects.identity import UNKNOWN_BLOCK
from toolstream_core.protocols.bedrock.converse_event import BLOCK_STOP, INDEX, INPUT, event_of
from toolstream_core.protocols.bedrock.repair.block_sequence import BlockRepairer
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.protocols.bedrock.converse_event import ConverseEvent
    from toolstream_core.protocols.bedrock.repair.client_block import Block
    from toolstream_core.protocols.bedrock.repair.held import Waited
    from toolstream_core.wire.frame import Frame

# Arguments under an index that no block has, or under none, are taken for those of the open call only while that call
# gets none under its own index. So they wait until its block stops, or until a delta of its own comes: that one goes on
# with what came without an index, or it shows that they are not the call's, and they go on as they came.


class UnknownBlockRepairer(BlockRepairer):
    """Sends the argument deltas of all blocks."""

    def _delta(self, one: Waited, event: ConverseEvent) -> None:
        block, index = self._by_call.get(id(one.call)), event.index
        if event.tool is None or one.call is None:
            self._other_delta(one, event)
        elif block is None:
            self._delta_of_unknown(one, event)
        elif index is not None and index != block.index:
            repair = self.report(UNKNOWN_BLOCK, self.message.number, f"no block {index} was started", one.call)
            if repair and one.call.guessed and block.open and not (block.indexed or self.torn or index in self._others):
                self._wait(one)
            elif repair and block.adopted:
                self._fill(one.event.frame, event, block)
            else:
                self._nobodys(one.event.frame, event)
        elif index is None and block.open and block.may_be_anybodys(event) and not self.torn:
            block.judge_index(event.body.get(INDEX))
            self._wait(one)
        else:
            if self._strays:
                self._decide_strays(event)
            if (index is None or index in self._by_index) and block.may_be_own(event):
                self._fill(one.event.frame, event, block)
            else:
                if index is None and block.indexed:
                    block.judge_index(event.body.get(INDEX))
                self._nobodys(one.event.frame, event)

    def _delta_of_unknown(self, one: Waited, event: ConverseEvent) -> None:
        """A delta of a call that the client was not given."""
        self._refuse_strays()
        self.report(UNKNOWN_BLOCK, self.message.number, f"no block {event.body.get(INDEX)} was started", one.call)
        self._nobodys(one.event.frame, event)

    def _wait(self, one: Waited) -> None:
        self._strays.append(one)
        if len(self._strays) >= MAX_STRAYS:
            self._settle()

    def _decide_strays(self, event: ConverseEvent) -> None:
        """A delta of the call's own index decides on those that wait."""
        if self._goes_on(event):
            self._settle()
        else:
            self._refuse_strays()

    def _goes_on(self, event: ConverseEvent) -> bool:
        """Whether a delta goes on with arguments that came without an index, where nothing else waits."""
        waited = [event_of(one.event.frame) for one in self._strays]
        pieces = [json_access.get(one.body, *INPUT) for one in waited if one is not None and one.index is None]
        return len(pieces) == len(waited) and go_on(pieces, json_access.get(event.body, *INPUT))

    def _nobodys(self, frame: Frame, event: ConverseEvent) -> None:
        """Arguments of a block that was never started: they are not said under the index of a moved block."""
        self._astray = True
        moved = event.index not in self._by_index and self._indexes.made_up_for(event.index) is not None
        self.pass_on(frame, event, self._indexes.of_other(event) if moved else event.body)

    @override
    def _block_of_text(self, event: ConverseEvent) -> Block | None:
        stray = event.index is not None and any(one.place == event.index for one in self._strays)
        return self._current if stray else super()._block_of_text(event)

    @override
    def _settle(self) -> None:
        self._settle_unsure()
        strays, self._strays = self._strays, []
        number = self.message.number
        for one in strays:
            event, block = event_of(one.event.frame), self._by_call.get(id(one.call))
            if event is None:
                continue
            self.message.number = one.event.frame.number
            if event.kind == BLOCK_STOP:
                super()._stop(one, event)
            if event.kind == BLOCK_STOP or block is None:
                continue
            if event.index is not None:
                self.because(UNKNOWN_BLOCK)
                block.adopted = True
            elif not block.may_be_own(event):
                self._nobodys(one.event.frame, event)
                continue
            self._fill(one.event.frame, event, block)
        self.message.number = number
        if strays:
            self._settle()

    @override
    def _stop(self, one: Waited, event: ConverseEvent) -> None:
        """The stop of what waits waits with it; that of another block decides nothing."""
        if self._strays and self._stops_waiting(one, event):
            self._strays.append(one)
        else:
            super()._stop(one, event)

    def _stops_waiting(self, one: Waited, event: ConverseEvent) -> bool:
        calls = {id(waited.call) for waited in self._strays}
        return id(one.call) in calls or event.index in {waited.place for waited in self._strays}

    @override
    def _before_text(self) -> None:
        if self._is_stopped:
            self._settle()

    @property
    def _is_stopped(self) -> bool:
        """Whether a stop is among what waits."""
        return any(one.stops for one in self._strays)

    @property
    def _places(self) -> set[int]:
        """The indexes under which arguments wait."""
        return {one.place for one in self._strays if one.place is not None}

    @property
    def _may_be_anothers(self) -> bool:
        """Whether arguments wait under an index that no block has, and no stop behind them."""
        return bool(self._places) and not self._is_stopped

    @override
    def _left_open(self, event: ConverseEvent) -> Block | None:
        return None if self._strays else super()._left_open(event)

    @override
    def _before_start(self, event: ConverseEvent) -> None:
        """What waits under the index that starts is not the open call's, nor, unless it is stopped, under another."""
        if self._strays and (event.index in self._places or self._may_be_anothers):
            self._refuse_strays()
        self._settle()

    def _refuse_strays(self) -> None:
        """The call gets arguments under its own index: all others are nobody's, and go as they came."""
        strays, self._strays = self._strays, []
        for one in strays:
            event = event_of(one.event.frame)
            block = self._by_call.get(id(one.call))
            if event is not None and event.kind == BLOCK_STOP:
                if event.index is None or block is None or event.index == block.index:
                    super()._stop(one, event)
                else:
                    self.pass_on(one.event.frame, event, event.body)
            elif event is not None:
                self._nobodys(one.event.frame, event)
