"""Anthropic deltas under an index that no block has: held until the call that they belong to shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.calls.strays import MAX_STRAYS
from toolstream_core.defects.identity import UNKNOWN_BLOCK
from toolstream_core.model import ABSENT
from toolstream_core.protocols.anthropic.repair.block_sequence import BlockRepairer
from toolstream_core.protocols.anthropic.repair.events import Payload, arguments_of, index_of
from toolstream_core.protocols.anthropic.repair.held import Waited
from toolstream_core.stages.stage import Holds
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

# They are taken for arguments of the one open call only while that call gets none under its own index. So they wait
# until its block stops, or until a delta of its own comes: that one goes on with them, or it shows that they are not
# the call's, and they go on as they came. A stop waits with them.


class UnknownBlockRepairer(BlockRepairer, Holds):
    """Sends the deltas of unknown blocks."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._strays: list[Waited] = []
        self._claims = False
        """Whether any call was given what came under an index that no block has."""

    @property
    def _stray_frames(self) -> list[Frame]:
        """The deltas that wait."""
        return [one.event.frame for one in self._strays]

    @override
    def _delta_of_unknown(self, event: Event, payload: Payload, call: OpenCall | None) -> None:
        # The fast path skips text where nothing is held, so nothing is reported of text here either.
        if json_access.get(payload, "delta", "type") in ("text_delta", "thinking_delta") and not self.holding:
            self._pass(event.frame, payload, payload)
            return
        message = f"no block {payload.get('index')} was started"
        repair = self.report(UNKNOWN_BLOCK, self.number, message, call)
        guessed = call is not None and call.guessed and id(call) in self.message.by_call
        if self._strays and index_of(payload) != index_of(self._strays[0].payload):
            self._refuse_strays()  # those of two indexes are not one call's
            guessed = False
        if not (repair and guessed) or self.torn:
            self._stray(event, payload, call=call)
            return
        self._strays.append(Waited(event, payload, call, stops=False))
        if len(self._strays) >= MAX_STRAYS:
            self._send_strays()

    @override
    def _delta(self, event: Event, payload: Payload, call: OpenCall | None) -> None:
        """A delta of the call's own index decides on those that wait, unless it says nothing."""
        held = self._strays[0].call if self._strays and arguments_of(payload) not in (ABSENT, None, "") else None
        if held is not None and call is held and index_of(payload) in self.message.by_index:
            self._send_strays()
        index = payload.get("index")
        if type(index) is not int and index is not None and call is not None and self._is_elsewhere(index, call):
            self.report(UNKNOWN_BLOCK, self.number, f"no block {index!r} was started", call)
            self._stray(event, payload, call=call)
        elif self._claims and call is not None and self._doubts(payload, call):
            self.because(UNKNOWN_BLOCK)
            self._stray(event, payload, call=call)
        else:
            super()._delta(event, payload, call)

    def _is_elsewhere(self, index: Json, call: OpenCall) -> bool:
        """Whether an index that is no number is not what the call's start said, which is none either.

        Where the start's is one, or it says none: behind whole arguments of the call.
        """
        block = self.message.by_call.get(id(call))
        if block is None or json_access.integer(index) is not None or block.index == index:
            return False
        odd = block.index is not None and json_access.integer(block.index) is None
        return odd or call.whole()

    def _doubts(self, payload: Payload, call: OpenCall) -> bool:
        """Whether arguments go to nobody: those that their call was given of other indexes may have been another's."""
        block = self.message.block_of(index_of(payload), call)
        if block is None or not block.claimed:
            return False
        self.message.lost_arguments |= not call.guessed  # they were not its own after all
        return block.doubtful and block.open and bool(arguments_of(payload))

    @override
    def _stray(self, event: Event, payload: Payload, *, call: OpenCall | None = None) -> None:
        """Arguments of nobody: what an open call was given of other indexes may have been before these."""
        if call is not None:
            for block in self.message.open.values():
                block.doubtful = block.doubtful or (block.claimed and not block.arguments.whole)
        super()._stray(event, payload, call=call)

    def _starts_at(self, index: int | None) -> None:
        """What starts at an index of which a call was given arguments may be whose they were."""
        block = self.message.by_index.get(index)
        if block is not None and block.claimed and not block.has(index):
            block.doubtful = block.doubtful or not block.arguments.whole

    @override
    def _stop(self, event: Event, payload: Payload) -> None:
        if self._ends_strays("content_block_stop", payload):
            self._strays.append(Waited(event, payload, None, stops=True))
            return
        if self._strays:
            self._send_strays()
        super()._stop(event, payload)

    def _ends_strays(self, kind: str, payload: Json) -> bool:
        """Whether an event is a stop of those that wait: of an index that no block has, or of the call's own."""
        if not self._strays or kind != "content_block_stop" or not isinstance(payload, dict):
            return False
        index, block = index_of(payload), self.message.by_call.get(id(self._strays[0].call))
        own = block is not None and block.has(index)
        return self._placeholder is None and (own or index not in self.message.by_index)

    @override
    def _settled(self) -> None:
        super()._settled()
        if self._strays:
            self._send_strays()

    def _decides_nothing(self, call: OpenCall | None) -> bool:
        """Whether the start of this call does not show whose those are that wait: it is no call, or theirs again."""
        return call is None or call is self._strays[0].call

    def _refuse_strays(self) -> None:
        """What waits may be of what nobody could read, or of the block that starts: it goes on as it came."""
        strays, self._strays = self._strays, []
        number = self.number
        for event, payload, call, stops in strays:
            self.number = event.frame.number
            if stops:
                super()._stop(event, payload)
            else:
                self._stray(event, payload, call=call)
        self.number = number

    def _send_strays(self) -> None:
        """Send what waits: as the call's; or as it came, where more of the call showed that it is not the call's.

        Also as it came where a delta is of another type: clients skip that one, and would join the others without it.
        """
        strays, self._strays = self._strays, []
        number = self.number
        deltas = [one.payload["delta"] for one in strays if not one.stops]
        typed = all(one.get("type") == "input_json_delta" for one in deltas)
        for event, payload, call, stops in strays:
            self.number = event.frame.number
            self.because(UNKNOWN_BLOCK)
            if stops:
                super()._stop(event, payload)
                continue
            block = self.message.by_call.get(id(call))
            if block is None or call is None or not call.guessed:
                self._stray(event, payload, call=call)
                continue
            if not typed:
                self.message.lost_arguments = True
                self._pass(event.frame, payload, payload)
                continue
            self.message.by_index[index_of(payload)] = block
            block.claimed = block.moved = self._moved = self._claims = True
            if block.open:
                self._filled(event, payload, block)
            else:
                self._late(event, payload, block)
        self.number = number
