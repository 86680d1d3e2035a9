"""What a transit fault can do: replace the actions of one stream. Knows nothing of time or sockets."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, override

from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.transit.actions import Action, Send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.protocols.socket_wire import SocketLane


class Stage:
    """One fault in one stream: replaces each action by others."""

    def __init__(self, context: FaultContext) -> None:
        """For one stream, from its start."""
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

    whole = False
    """Whether it acts on the whole event that the point is in, not only on its bytes behind the point."""

    def __init__(self, context: FaultContext) -> None:
        """For one stream, from its start."""
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
        before = 0 if self.whole or self.context.socket is not None else before
        if before:
            yield replace(send, raw=send.raw[:before])
        yield from self.reached(replace(send, raw=send.raw[before:]))

    def reached(self, rest: Send) -> Iterable[Action]:
        """The actions in place of the bytes behind the point."""
        raise NotImplementedError


@dataclass
class FaultContext:
    """One fault's values, and what it knows of the stream that it acts on."""

    values: Mapping[str, Any]
    """By key, as in the table."""
    protocol: WireProtocol = PROTOCOLS[0]
    binary: bool = False
    """Whether the stream is an AWS event stream, which can only hold whole messages."""
    socket: SocketLane | None = None
    """Where on a WebSocket the stream comes, each event a message; `None` for one over HTTP."""
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
        """As it is given in a specification."""
        return f"{self.kind}:{self.number}" if self.kind in {"event", "byte", "call"} else self.kind

    def split(self, send: Send, hits: Callable[[str], bool]) -> int | None:
        """How many bytes of `send` are before the point; `None` where it is not in them. `hits` filters by tool."""
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
                if place.has_whole_arguments and tools:
                    return len(send.raw) // 2
                reached = place.in_arguments and tools
            case _:
                reached = place.is_terminal
        return 0 if reached else None


def point(text: str) -> Point | None:
    """The point that `text` names; `None` where it names none."""
    if text in {"in-arguments", "before-done"}:
        return Point(text)
    match = _NUMBERED.fullmatch(text)
    return Point(match[1], int(match[2])) if match else None
