"""Transit faults at work: each replaces the actions of one stream. Knows nothing of time or sockets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, override

from toolstream_core.protocols.aws_errors import exception_message
from toolstream_core.protocols.provider_error import ERRORS
from toolstream_core.transit.actions import Action, BreakKind, Cut, Finish, Hold, Send, Wait

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolstream_core.transit.context import FaultContext
    from toolstream_core.transit.points import Point


class Stage:
    """One fault in one stream: replaces each action by others."""

    def __init__(self, context: FaultContext) -> None:
        """For one stream, from its start."""
        self.context = context

    def begin(self) -> Iterable[Action]:
        """The actions before the headers are sent."""
        return ()

    def take(self, action: Action) -> Iterable[Action]:
        """The actions in place of `action`."""
        return self.sent(action) if isinstance(action, Send) else (action,)

    def sent(self, send: Send) -> Iterable[Action]:
        """The actions in place of bytes to be sent."""
        return (send,)

    def end(self) -> Iterable[Action]:
        """The actions before the body's end."""
        return ()


class _AtPoint(Stage):
    """Acts once, at a point."""

    whole = False
    """Whether it acts on the whole event that the point is in, not only on its bytes behind the point."""

    def __init__(self, context: FaultContext) -> None:
        super().__init__(context)
        self.over = False

    @override
    def sent(self, send: Send) -> Iterator[Action]:
        at: Point = self.context.values["at"]
        before = None if self.over else at.split(send, self.context.hits)
        if before is None:
            yield send
            return
        self.over = True
        self.context.acted()
        before = 0 if self.whole else before
        if before:
            yield replace(send, raw=send.raw[:before])
        yield from self.reached(replace(send, raw=send.raw[before:]))

    def reached(self, rest: Send) -> Iterable[Action]:
        """The actions in place of the bytes behind the point."""
        raise NotImplementedError


class FirstByteDelay(Stage):
    """Waits before the headers go."""

    @override
    def begin(self) -> Iterable[Action]:
        self.context.acted()
        return (Wait(self.context.seconds()),)


class Stall(_AtPoint):
    """Waits once."""

    @override
    def reached(self, rest: Send) -> Iterable[Action]:
        return (Wait(self.context.seconds()), rest)


class Drip(Stage):
    """Waits before each event."""

    @override
    def sent(self, send: Send) -> Iterable[Action]:
        self.context.acted()
        return (Wait(self.context.seconds()), send)


class CutOff(_AtPoint):
    """Breaks the connection."""

    @override
    def reached(self, rest: Send) -> Iterable[Action]:
        del rest
        return (Cut(BreakKind(self.context.values["how"])),)


class ErrorEvent(_AtPoint):
    """Sends an error and ends the stream."""

    @override
    def reached(self, rest: Send) -> Iterable[Action]:
        context, kind = self.context, ERRORS[self.context.values["error"]]
        raw = exception_message(kind) if context.binary else context.protocol.error_event(kind, rest.place.number)
        return (replace(rest, raw=raw), Finish())


class Recut(Stage):
    """Sends the same bytes in other pieces."""

    def __init__(self, context: FaultContext) -> None:
        """For one stream, from its start."""
        super().__init__(context)
        self._held: list[Send] = []

    @override
    def sent(self, send: Send) -> Iterable[Action]:
        values = self.context.values
        if values["events"]:
            self._held.append(send)
            return self._joined() if len(self._held) == values["events"] else ()
        self.context.acted()
        if values["bytes"]:
            size = values["bytes"]
            cuts: Iterable[int] = range(size, len(send.raw), size)
        else:
            cuts = [at for at in range(1, len(send.raw)) if send.raw[at] & 0xC0 == 0x80]  # noqa: PLR2004
        return [replace(send, raw=piece) for piece in _pieces(send.raw, cuts)]

    @override
    def take(self, action: Action) -> Iterable[Action]:
        # What waits for others is sent before anything else happens.
        return super().take(action) if isinstance(action, Send) else (*self._joined(), action)

    @override
    def end(self) -> Iterable[Action]:
        return self._joined()

    def _joined(self) -> Iterable[Action]:
        held, self._held = self._held, []
        if not held:
            return ()
        self.context.acted()
        return (replace(held[0], raw=b"".join(one.raw for one in held)),)


def _pieces(raw: bytes, cuts: Iterable[int]) -> Iterator[bytes]:
    begin = 0
    for cut in cuts:
        yield raw[begin:cut]
        begin = cut
    yield raw[begin:]


class HoldOpen(Stage):
    """Leaves the connection open after the whole body."""

    @override
    def end(self) -> Iterable[Action]:
        self.context.acted()
        seconds, heartbeat = self.context.values["ms"] / 1000, self.context.values["heartbeat"] / 1000
        return (Hold(seconds or None, None if self.context.binary else heartbeat or None),)


class DuplicateEvent(_AtPoint):
    """Sends an event twice."""

    whole = True

    @override
    def reached(self, rest: Send) -> Iterable[Action]:
        return (rest, rest)


class DropEvent(_AtPoint):
    """Leaves an event out."""

    whole = True

    @override
    def reached(self, rest: Send) -> Iterable[Action]:
        del rest
        return ()


class SwapEvents(_AtPoint):
    """Sends an event behind the one that follows it."""

    whole = True

    def __init__(self, context: FaultContext) -> None:
        """For one stream, from its start."""
        super().__init__(context)
        self._held: Send | None = None

    @override
    def sent(self, send: Send) -> Iterator[Action]:
        held, self._held = self._held, None
        if held is None:
            yield from super().sent(send)
        else:
            yield from (send, held)

    @override
    def reached(self, rest: Send) -> Iterable[Action]:
        self._held = rest
        return ()

    @override
    def end(self) -> Iterable[Action]:
        # The last event has none behind it.
        held, self._held = self._held, None
        return () if held is None else (held,)
