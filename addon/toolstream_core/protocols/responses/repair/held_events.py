"""Events of Responses items that are held until the next event, because they may still change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.client_item import ClientItem
    from toolstream_core.protocols.responses.repair.state import RepairState
    from toolstream_core.stages.repair.emitted import Emitted
    from toolstream_core.wire.frame import Frame


class _Closing(NamedTuple):
    frame: Frame
    payload: dict[str, Json]
    item: ClientItem


class _Delta(NamedTuple):
    frame: Frame
    payload: dict[str, Json]
    item: ClientItem
    emitted: Emitted | None
    elsewhere: bool
    """Whether it is the first of its item, and under no index."""


PATIENCE: Final = 8
"""Comments that wait behind an event."""


class HeldEvents:
    """At most one delta, and one event that closes an item before its arguments are whole."""

    def __init__(self, state: RepairState) -> None:
        """None is held."""
        self._state = state
        self._output = state.output
        self.delta: _Delta | None = None
        self.closing: _Closing | None = None
        self.comments: list[Frame] = []
        """Comments behind them."""
        self.any = False
        """Whether one is held."""

    def keeps(self, comment: Frame) -> bool:
        """Whether a comment waits behind what is held; many of them show that the stream is slow."""
        waits = self.any and len(self.comments) < PATIENCE
        self.comments += [comment] if waits else []
        return waits

    def _go_on(self) -> None:
        comments, self.comments = self.comments, []
        self._output.frames += comments

    def hold_delta(self, frame: Frame, payload: dict[str, Json], item: ClientItem, *, elsewhere: bool) -> None:
        """Take a delta of an item's arguments in place of the last one; it is sent where it cannot change any more.

        `elsewhere`: the item has an output_index, and it has none.
        """
        arguments, delta = item.arguments, payload.get("delta")
        if self.delta is not None and self.delta.elsewhere and delta and not elsewhere:
            self.leave_apart()
        first = elsewhere and bool(delta) and arguments.joins is None and not arguments.repair.begun
        if elsewhere and not arguments.joins_with(delta):
            self._stays(frame)
            return
        emitted = arguments.take(delta, may_wait=True)
        if self.delta is not None:
            self.send_delta()
        if first or arguments.repair.waiting:
            self.delta = _Delta(frame, payload, item, emitted, first)
            self.any = True
        else:
            self._send(frame, payload, item, emitted)

    def leave_apart(self) -> None:
        """The held delta is under no index, one of the same call that is at hand is: it is no part of that."""
        if self.delta is None or not self.delta.elsewhere:
            return
        apart, self.delta, self.any = self.delta, None, self.closing is not None
        self._stays(apart.frame)
        apart.item.arguments.begin_anew()

    def _stays(self, frame: Frame) -> None:
        """A delta is no part of the item, to a client that goes by the index: it goes on as it came."""
        if self.delta is not None:
            self.send_delta()
        came = frame.json
        if isinstance(came, dict):
            self._output.send(frame, self._state.of_nobody(came))
        self._go_on()

    def settle_delta(self, next_call: OpenCall | None) -> None:
        """Send the delta, unless the next event is a delta of the same call, `next_call`, and decides on it."""
        if self.delta is not None and next_call is not self.delta.item.call:
            self.delta.item.arguments.settle()
            self.send_delta()

    def send_delta(self) -> None:
        """Send the delta as it is by now."""
        if self.delta is None:
            return
        (frame, payload, item, emitted, _), self.delta = self.delta, None
        self.any = self.closing is not None
        self._send(frame, payload, item, emitted)
        self._go_on()

    def _send(self, frame: Frame, payload: dict[str, Json], item: ClientItem, emitted: Emitted | None) -> None:
        if emitted is not None:
            item.arguments.give(emitted.text)
            came = frame.json
            if emitted.stray and isinstance(came, dict) and "output_index" not in came:
                payload = came  # It does not fit the item that it is guessed to be of.
            payload = payload if emitted.text == payload["delta"] else {**payload, "delta": emitted.text}
        self._output.send(frame, payload)

    def hold_closing(self, frame: Frame, payload: dict[str, Json], item: ClientItem) -> None:
        """Hold an event that closes an item with a part of its arguments: the call may go on in another item."""
        self.closing = _Closing(frame, self._output.numbered(payload), item)
        self.any = True

    def drop_closing(self) -> None:
        """The event at hand closes the same item again."""
        self.closing, self.any = None, self.delta is not None
        self._go_on()

    def settle_closing(self, next_call: OpenCall | None, *, adds: bool, closes: bool) -> None:
        """Send the closing event, unless the next one closes the same call, or `adds` another item of it."""
        if self.closing is None or (closes and next_call is self.closing.item.call):
            return
        closing = self.closing
        self.closing, self.any = None, self.delta is not None
        if adds and next_call is closing.item.call and closing.item.arguments.joinable:
            closing.item.closed, closing.item.in_pieces = False, True
        else:
            self._output.send(closing.frame, closing.payload, numbered=True)
        self._go_on()
