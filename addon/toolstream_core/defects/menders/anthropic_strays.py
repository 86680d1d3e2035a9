"""Anthropic deltas under an index that no block has: held until it is known whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.strays import MAX_STRAYS
from toolstream_core.defects.identity import UNKNOWN_BLOCK
from toolstream_core.defects.menders.anthropic_blocks import BlocksMender
from toolstream_core.defects.menders.anthropic_events import Payload, index_of
from toolstream_core.defects.menders.anthropic_waiting import Waited
from toolstream_core.wire import look

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.stage import Context
    from toolstream_core.model import Event
    from toolstream_core.wire.frame import Frame

# They are taken for arguments of the one open call only while that call gets none under its own index. So they wait
# until its block stops, or until a delta of its own comes: that one goes on with them, or it shows that they are not
# the call's, and they go on as they came.


class StraysMender(BlocksMender):
    """Lets deltas of unknown blocks go on."""

    def __init__(self, context: Context) -> None:
        """As `Mender`."""
        super().__init__(context)
        self._strays: list[Waited] = []

    @property
    def _stray_frames(self) -> list[Frame]:
        """The deltas that wait."""
        return [one.event.frame for one in self._strays]

    def _nobodys(self, event: Event, payload: Payload, call: OpenCall | None) -> None:
        """As `BlocksMender._nobodys`; text goes by unread where nothing is held, so nothing is told of it there."""
        if look.get(payload, "delta", "type") in ("text_delta", "thinking_delta") and not self.holding:
            self._pass(event.frame, payload, payload)
            return
        message = f"no block {payload.get('index')} was started"
        mend = self.tell(UNKNOWN_BLOCK, self.number, message, call)
        if not mend or call is None or not call.guessed or id(call) not in self._by_call:
            self._stray(event, payload, call=call)
            return
        self._strays.append(Waited(event, payload, call, stops=False))
        if len(self._strays) >= MAX_STRAYS:
            self._claim()

    def _delta(self, event: Event, payload: Payload, call: OpenCall | None) -> None:
        """As `BlocksMender._delta`; a delta of the call's own index decides on those that wait."""
        held = self._strays[0].call if self._strays else None
        if held is not None and call is held and self._block_of(index_of(payload), call) is not None:
            self._claim()
        super()._delta(event, payload, call)

    def _stop(self, event: Event, payload: Payload) -> None:
        """As `BlocksMender._stop`."""
        self._claim()
        super()._stop(event, payload)

    def _settled(self) -> None:
        """As `BlocksMender._settled`."""
        super()._settled()
        self._claim()

    def _claim(self) -> None:
        """What waits goes on: as the call's, or, where more of the call showed that it is not, as it came.

        Also where a piece is of another type: clients pass over that, and would have the others joined without it.
        """
        strays, self._strays = self._strays, []
        number = self.number
        typed = all(look.get(one.payload, "delta", "type") == "input_json_delta" for one in strays)
        for event, payload, call, _ in strays:
            self.number = event.frame.number
            self.because(UNKNOWN_BLOCK)
            block = self._by_call.get(id(call))
            if block is None or call is None or not call.guessed:
                self._stray(event, payload, call=call)
                continue
            if not typed:
                self._astray = True
                self._pass(event.frame, payload, payload)
                continue
            self._by_index[index_of(payload)] = block
            block.claimed = block.moved = self._moved = True
            if block.open:
                self._filled(event, payload, block)
            else:
                self._late(event, payload, block)
        self.number = number
