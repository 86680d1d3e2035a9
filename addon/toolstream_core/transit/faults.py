"""Faults of time and of the connection at work. Know nothing of a clock or a socket."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, override

from toolstream_core.protocols.aws_errors import exception_message
from toolstream_core.protocols.provider_error import ERRORS
from toolstream_core.transit.actions import CUT, Action, BreakKind, Cut, Finish, Hold, Send, Wait
from toolstream_core.transit.stage import AtPoint, Stage
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


NO_CLOSE_FRAME = 1006
"""The code that no close frame says: https://www.rfc-editor.org/rfc/rfc6455#section-7.1.5"""


class FirstByteDelay(Stage):
    """Waits before the headers go."""

    @override
    def begin(self) -> Iterable[Action]:
        self.context.acted()
        return (Wait(self.context.seconds()),)


class Stall(AtPoint):
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


class CutOff(AtPoint):
    """Breaks the connection."""

    @override
    def reached(self, rest: Send) -> Iterable[Action]:
        del rest
        how, code = BreakKind(self.context.values["how"]), self.context.values["code"]
        if code == NO_CLOSE_FRAME or self.context.socket is None:
            return (Cut(how),)
        return (Cut(how, f"{CUT} with code {code}", code),)


class ErrorEvent(AtPoint):
    """Sends an error and ends the stream."""

    @override
    def reached(self, rest: Send) -> Iterable[Action]:
        return (replace(rest, raw=self._error(rest.place.number)), Finish())

    def _error(self, number: int) -> bytes:
        context, kind = self.context, ERRORS[self.context.values["error"]]
        if context.socket is not None:
            return encoded(context.socket.error(kind)) + b"\n"
        return exception_message(kind) if context.binary else context.protocol.error_event(kind, number)


class Recut(Stage):
    """Sends the same bytes in other pieces."""

    @override
    def sent(self, send: Send) -> Iterable[Action]:
        if self.context.socket is not None:
            return (send,)
        values = self.context.values
        if values["events"]:
            self.held.append(send)
            return self._joined() if len(self.held) == values["events"] else ()
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
        held, self.held = self.held, []
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
        silent = self.context.binary or self.context.socket is not None
        return (Hold(seconds or None, None if silent else heartbeat or None),)
