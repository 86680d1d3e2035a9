"""Faults that send one event of a stream twice, not at all, late or under another id."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, override

from toolstream_core.transit.stage import AtPoint
from toolstream_core.wire.frame import parse
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolstream_core.transit.actions import Action, Send


class DuplicateEvent(AtPoint):
    """Sends an event twice."""

    whole = True

    @override
    def reached(self, rest: Send) -> Iterable[Action]:
        return (rest, rest)


class DropEvent(AtPoint):
    """Leaves an event out."""

    whole = True

    @override
    def reached(self, rest: Send) -> Iterable[Action]:
        del rest
        return ()


class SwapEvents(AtPoint):
    """Sends an event behind the one that follows it."""

    whole = True

    @override
    def sent(self, send: Send) -> Iterator[Action]:
        if self.held:
            yield from (send, self.held.pop())
        else:
            yield from super().sent(send)

    @override
    def reached(self, rest: Send) -> Iterable[Action]:
        self.held.append(rest)
        return ()

    @override
    def end(self) -> Iterable[Action]:
        # The last event has none behind it.
        held, self.held = self.held, []
        return held


class WrongStreamId(AtPoint):
    """Has an event of a WebSocket say another `stream_id`."""

    whole = True

    @override
    def sent(self, send: Send) -> Iterator[Action]:
        if not self.over and self._redirected(send.raw) is None:
            yield send
        else:
            yield from super().sent(send)

    @override
    def reached(self, rest: Send) -> Iterable[Action]:
        return (replace(rest, raw=self._redirected(rest.raw) or rest.raw),)

    def _redirected(self, raw: bytes) -> bytes | None:
        """The event with the other id; `None` where it has no place for one, or has it already."""
        socket, other = self.context.socket, self.context.values["id"]
        if socket is None or not socket.wire.lane_key or socket.lane == other:
            return None
        payload = parse(raw)
        return encoded({**payload, socket.wire.lane_key: other}) + b"\n" if isinstance(payload, dict) else None
