"""The actions on a stream in flight. Knows no clock and no socket."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from toolstream_core.model import Event
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.wire.write import Writer

CUT: Final = "cut by toolstream_fault"


class BreakKind(enum.StrEnum):
    """How a connection breaks."""

    CLOSE = "close"
    """A clean close before the end of the body: HTTP/1.1 without the last chunk, HTTP/2 the connection."""
    RESET = "reset"
    """HTTP/1.1 by a TCP reset, HTTP/2 by a reset of the stream."""


@dataclass(frozen=True, slots=True)
class EventPlace:
    """The place of an event in its response."""

    number: int
    """Its number among the events with data, from 0; a comment has the number of the next one."""
    start: int
    """Bytes of the body before it."""
    opened_calls: tuple[int, ...] = ()
    """Positions of the calls that begin in it."""
    tools: tuple[str, ...] = ()
    """Names of the tools of the calls that are open before or in it."""
    in_arguments: bool = False
    """Whether the arguments of a call began before it and are incomplete."""
    has_complete_arguments: bool = False
    """Whether the complete arguments of a call are in it."""
    is_terminal: bool = False
    """Whether it is the terminal one: `[DONE]`, `message_stop`, `response.completed`, the last finish reason."""
    has_data: bool = True
    """Whether it carries data."""


@dataclass(frozen=True, slots=True)
class Send:
    """Send bytes to the client."""

    raw: bytes
    place: EventPlace


@dataclass(frozen=True, slots=True)
class Wait:
    """Send nothing for some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cut:
    """Break the connection; nothing more is sent."""

    how: BreakKind
    why: str = CUT
    """The message of the flow's error."""
    code: int | None = None
    """The close code of a WebSocket; `None` sends no close frame."""


def repair_cut(name: str) -> Cut:
    """The disconnect with which the repair of the defect `name` ends a response."""
    return Cut(BreakKind.CLOSE, f"cut by toolstream_repair: {name}")


@dataclass(frozen=True, slots=True)
class Finish:
    """End the body cleanly here. Later bytes of the provider are discarded."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Send nothing more and leave the connection open, for some seconds or until the client closes it."""

    seconds: float | None = None
    heartbeat: float | None = None
    """Seconds between comments; `None` sends none."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Send a second request before the event with the finish reason: it announces calls, but none arrived."""

    event: Event
    index: int
    """The next free index of a content block."""
    writer: Writer
    """Makes events in the stream's framing."""
    protocol: WireProtocol
    comments: bool = True
    """Whether comments may be sent between its events."""


type Action = Send | Wait | Cut | Finish | Hold | Ask
