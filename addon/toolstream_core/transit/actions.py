"""What can happen to a stream on its way, one thing after the other. Knows no clock and no socket."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolstream_core.model import Event


class How(enum.StrEnum):
    """How a connection breaks."""

    CLOSE = "close"
    """In order, before the body is over: HTTP/1.1 without its last chunk, HTTP/2 the whole connection."""
    RESET = "reset"
    """HTTP/1.1 by a TCP reset, HTTP/2 by a reset of the stream."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its answer an event stands."""

    number: int
    """Among the events with data, from 0; a comment has the number of the next one."""
    start: int
    """Bytes of the body before it."""
    opens: tuple[int, ...] = ()
    """Positions of the calls that it opens."""
    tools: tuple[str, ...] = ()
    """Names of the tools of the calls that are open before or in it."""
    inside_value: bool = False
    """Whether a call's arguments have begun before it and are not whole."""
    inside: bool = False
    """Whether whole arguments of a call begin and end in it."""
    ends: bool = False
    """Whether it is the terminal one: `[DONE]`, `message_stop`, `response.completed`, the last finish reason."""
    counts: bool = True
    """Whether it carries data."""


@dataclass(frozen=True, slots=True)
class Send:
    """Bytes go to the client."""

    raw: bytes
    place: Place


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing goes for so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection breaks; nothing more goes."""

    how: How
    why: str = "cut by toolstream_fault"
    """What the flow's error says."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The body ends here in order; what else upstream says goes nowhere."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing goes any more and the connection stays open, for so many seconds or until the client leaves."""

    seconds: float | None = None
    heartbeat: float | None = None
    """Seconds between comments, where any go."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The provider is asked again, before the event that says the finish goes: calls were said and none came."""

    event: Event
    index: int
    """The next free index of a content block."""


type Action = Send | Wait | Cut | Finish | Hold | Ask
