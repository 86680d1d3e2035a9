"""Timing faults: each decides when and whether bytes are sent."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, override

from toolstream_core.protocols.errors import ERRORS, exception_message
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.protocols.socket_wire import SocketLane
from toolstream_core.transit.actions import CUT, Action, BreakKind, Cut, Finish, Hold, Send, Wait
from toolstream_core.wire.frame import parse
from toolstream_core.wire.write import encoded


class Stage:
    """One fault in one stream: replaces each action by others."""

    def __init__(self, context: FaultContext) -> None:
        self.context = context
        self.held: list[Send] = []
        """Events that wait for the next ones; after an internal error they are sent unchanged."""

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


class AtPoint(Stage):
    """Acts once, at a point."""

    whole_event = False
    """Whether it acts on all of the event that the point is in, not only on its bytes after the point."""

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
        before = 0 if self.whole_event or self.context.socket is not None else before
        if before:
            yield replace(send, raw=send.raw[:before])
        yield from self.reached(replace(send, raw=send.raw[before:]))

    def reached(self, rest: Send) -> Iterable[Action]:
        """The actions in place of the bytes after the point."""
        raise NotImplementedError


@dataclass
class FaultContext:
    """The values of a fault, and the facts of the stream that it acts on."""

    values: Mapping[str, Any]
    """By key, as in the table."""
    protocol: WireProtocol = PROTOCOLS[0]
    binary: bool = False
    """Whether the stream is an AWS event stream, which can only hold complete messages."""
    socket: SocketLane | None = None
    """The lane on a WebSocket, where each event is a message; `None` over HTTP."""
    seed: str = ""
    hits: Callable[[str], bool] = lambda tool: True  # noqa: ARG005
    """Whether calls of a tool are among the targets."""
    acted: Callable[[], None] = lambda: None
    """Called for each change."""
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        """Use random numbers of its own."""
        self.random = random.Random(self.seed)

    def seconds(self) -> float:
        """A delay: `ms` with its jitter."""
        base, jitter = self.values["ms"] / 1000, self.values["jitter"] / 1000
        match self.values["dist"]:
            case "normal":
                drawn = self.random.gauss(0, jitter)
            case "exponential":
                drawn = self.random.expovariate(1 / jitter) if jitter else 0.0
            case _:
                drawn = self.random.uniform(-jitter, jitter)
        return max(0.0, float(base + drawn))


_NUMBERED = re.compile(r"(event|byte|call):(\d{1,12})")
FORMS = "event:N, byte:N, call:N, in-arguments, before-done"


@dataclass(frozen=True, slots=True)
class Point:
    """A point in a stream."""

    kind: str
    """`event`, `byte`, `call`, `in-arguments` or `before-done`."""
    number: int = 0
    """Counted from 0, as in the log."""

    def __str__(self) -> str:
        """Its text in a specification."""
        return f"{self.kind}:{self.number}" if self.kind in {"event", "byte", "call"} else self.kind

    def split(self, send: Send, hits: Callable[[str], bool]) -> int | None:
        """The number of bytes of `send` before the point; `None` if it is not in them. `hits` filters by tool."""
        place = send.place
        tools = not place.tools or any(hits(tool) for tool in place.tools)
        match self.kind:
            case "byte":
                return max(0, self.number - place.start) if self.number < place.start + len(send.raw) else None
            case "event":
                reached = place.has_data and place.number >= self.number
            case "call":
                reached = self.number in place.opened_calls and tools
            case "in-arguments":
                if place.has_complete_arguments and tools:
                    return len(send.raw) // 2
                reached = place.in_arguments and tools
            case _:
                reached = place.is_terminal
        return 0 if reached else None


def point(text: str) -> Point | None:
    """The point that `text` names; `None` if it is unknown."""
    if text in {"in-arguments", "before-done"}:
        return Point(text)
    match = _NUMBERED.fullmatch(text)
    return Point(match[1], int(match[2])) if match else None


class DuplicateEvent(AtPoint):
    """Sends an event twice."""

    whole_event = True

    @override
    def reached(self, rest: Send) -> Iterable[Action]:
        return (rest, rest)


class DropEvent(AtPoint):
    """Leaves an event out."""

    whole_event = True

    @override
    def reached(self, rest: Send) -> Iterable[Action]:
        del rest
        return ()


class SwapEvents(AtPoint):
    """Sends an event after the one that follows it."""

    whole_event = True

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
        # No event follows the last one.
        held, self.held = self.held, []
        return held


class WrongStreamId(AtPoint):
    """Gives an event of a WebSocket another `stream_id`."""

    whole_event = True

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
        """The event with the other id; `None` if it cannot have one, or has it already."""
        socket, other = self.context.socket, self.context.values["id"]
        if socket is None or not socket.wire.lane_key or socket.lane == other:
            return None
        payload = parse(raw)
        return encoded({**payload, socket.wire.lane_key: other}) + b"\n" if isinstance(payload, dict) else None


NO_CLOSE_FRAME = 1006
"""The code that no close frame has: https://www.rfc-editor.org/rfc/rfc6455#section-7.1.5"""


class FirstByteDelay(Stage):
    """Waits before the headers are sent."""

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

    whole_event = True

    @override
    def reached(self, rest: Send) -> Iterable[Action]:
        return (replace(rest, raw=self._error(rest.place.number)), Finish())

    def _error(self, number: int) -> bytes:
        context, kind = self.context, ERRORS[self.context.values["error"]]
        if context.socket is not None:
            return encoded(context.socket.error(kind)) + b"\n"
        return exception_message(kind) if context.binary else context.protocol.error_event(kind, number)


class Recut(Stage):
    """Sends the same bytes in other chunks."""

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
        return [replace(send, raw=part) for part in _parts(send.raw, cuts)]

    @override
    def take(self, action: Action) -> Iterable[Action]:
        # Waiting bytes are sent before any other action.
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


def _parts(raw: bytes, cuts: Iterable[int]) -> Iterator[bytes]:
    begin = 0
    for cut in cuts:
        yield raw[begin:cut]
        begin = cut
    yield raw[begin:]


class HoldOpen(Stage):
    """Leaves the connection open after the complete body."""

    @override
    def end(self) -> Iterable[Action]:
        self.context.acted()
        seconds, heartbeat = self.context.values["ms"] / 1000, self.context.values["heartbeat"] / 1000
        silent = self.context.binary or self.context.socket is not None
        return (Hold(seconds or None, None if silent else heartbeat or None),)
