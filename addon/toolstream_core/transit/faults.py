"""What each transit fault makes of a stream. Knows actions, and nothing of time or sockets."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from toolstream_core.transit.actions import Action, Cut, Finish, Hold, How, Send, Wait
from toolstream_core.transit.errors import error_event, exception_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from toolstream_core.transit.points import Point


@dataclass
class Way:
    """What a fault knows of the stream that it acts on."""

    values: Mapping[str, Any]
    """By key, as the table says."""
    dialect: str = ""
    binary: bool = False
    """Whether the stream is an AWS event stream, in which nothing but whole messages can stand."""
    seed: str = ""
    hits: Callable[[str], bool] = lambda tool: True  # noqa: ARG005
    """Which tools' calls are meant."""
    acted: Callable[[], None] = lambda: None
    """Called for each change."""
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        """Draw from a sequence of its own."""
        self.random = random.Random(self.seed)

    def seconds(self) -> float:
        """`ms` with its jitter."""
        usual, jitter = self.values["ms"] / 1000, self.values["jitter"] / 1000
        match self.values["dist"]:
            case "normal":
                drawn = self.random.gauss(0, jitter)
            case "exponential":
                drawn = self.random.expovariate(1 / jitter) if jitter else 0.0
            case _:
                drawn = self.random.uniform(-jitter, jitter)
        return max(0.0, float(usual + drawn))


class Stage:
    """One fault in one stream: what it makes of each action."""

    def __init__(self, way: Way) -> None:
        """For one stream, from its start."""
        self.way = way

    def begin(self) -> Iterable[Action]:
        """What happens before the headers go."""
        return ()

    def take(self, action: Action) -> Iterable[Action]:
        """What happens in the place of `action`."""
        return self.sent(action) if isinstance(action, Send) else (action,)

    def sent(self, send: Send) -> Iterable[Action]:
        """What happens in the place of bytes that go."""
        return (send,)

    def end(self) -> Iterable[Action]:
        """What happens before the body's end."""
        return ()


class _Once(Stage):
    """Acts once, at a point."""

    whole = False
    """Whether it acts on the event that the point lies in, not on its bytes from there on."""

    def __init__(self, way: Way) -> None:
        super().__init__(way)
        self.over = False

    def sent(self, send: Send) -> Iterator[Action]:
        """As `Stage.sent`."""
        at: Point = self.way.values["at"]
        before = None if self.over else at.split(send, self.way.hits)
        if before is None:
            yield send
            return
        self.over = True
        self.way.acted()
        before = 0 if self.whole else before
        if before:
            yield replace(send, raw=send.raw[:before])
        yield from self.reached(replace(send, raw=send.raw[before:]))

    def reached(self, rest: Send) -> Iterable[Action]:
        """What happens in the place of the bytes behind the point."""
        raise NotImplementedError


class FirstByteDelay(Stage):
    """Waits before the headers go."""

    def begin(self) -> Iterable[Action]:
        """As `Stage.begin`."""
        self.way.acted()
        return (Wait(self.way.seconds()),)


class Stall(_Once):
    """Waits once."""

    def reached(self, rest: Send) -> Iterable[Action]:
        """As `_Once.reached`."""
        return (Wait(self.way.seconds()), rest)


class Drip(Stage):
    """Waits before each event."""

    def sent(self, send: Send) -> Iterable[Action]:
        """As `Stage.sent`."""
        self.way.acted()
        return (Wait(self.way.seconds()), send)


class CutOff(_Once):
    """Breaks the connection."""

    def reached(self, rest: Send) -> Iterable[Action]:
        """As `_Once.reached`."""
        del rest
        return (Cut(How(self.way.values["how"])),)


class ErrorEvent(_Once):
    """Says an error and ends the stream."""

    def reached(self, rest: Send) -> Iterable[Action]:
        """As `_Once.reached`."""
        way, error = self.way, self.way.values["error"]
        said = exception_message(error) if way.binary else error_event(way.dialect, error, number=rest.place.number)
        return (replace(rest, raw=said), Finish())


class Recut(Stage):
    """Says the same bytes in other pieces."""

    def __init__(self, way: Way) -> None:
        """As `Stage`."""
        super().__init__(way)
        self._held: list[Send] = []

    def sent(self, send: Send) -> Iterable[Action]:
        """As `Stage.sent`."""
        values = self.way.values
        if values["events"]:
            self._held.append(send)
            return self._joined() if len(self._held) == values["events"] else ()
        self.way.acted()
        if values["bytes"]:
            size = values["bytes"]
            cuts: Iterable[int] = range(size, len(send.raw), size)
        else:
            cuts = [at for at in range(1, len(send.raw)) if send.raw[at] & 0xC0 == 0x80]  # noqa: PLR2004
        return [replace(send, raw=piece) for piece in _pieces(send.raw, cuts)]

    def take(self, action: Action) -> Iterable[Action]:
        """As `Stage.take`: what waits for others goes before anything else happens."""
        return super().take(action) if isinstance(action, Send) else (*self._joined(), action)

    def end(self) -> Iterable[Action]:
        """As `Stage.end`."""
        return self._joined()

    def _joined(self) -> Iterable[Action]:
        held, self._held = self._held, []
        if not held:
            return ()
        self.way.acted()
        return (replace(held[0], raw=b"".join(one.raw for one in held)),)


def _pieces(raw: bytes, cuts: Iterable[int]) -> Iterator[bytes]:
    begin = 0
    for cut in cuts:
        yield raw[begin:cut]
        begin = cut
    yield raw[begin:]


class HoldOpen(Stage):
    """Leaves the connection open behind everything."""

    def end(self) -> Iterable[Action]:
        """As `Stage.end`."""
        self.way.acted()
        seconds, heartbeat = self.way.values["ms"] / 1000, self.way.values["heartbeat"] / 1000
        return (Hold(seconds or None, None if self.way.binary else heartbeat or None),)


class DuplicateEvent(_Once):
    """Says an event twice."""

    whole = True

    def reached(self, rest: Send) -> Iterable[Action]:
        """As `_Once.reached`."""
        return (rest, rest)


class DropEvent(_Once):
    """Leaves an event out."""

    whole = True

    def reached(self, rest: Send) -> Iterable[Action]:
        """As `_Once.reached`."""
        del rest
        return ()


class SwapEvents(_Once):
    """Says an event behind the one that follows it."""

    whole = True

    def __init__(self, way: Way) -> None:
        """As `Stage`."""
        super().__init__(way)
        self._held: Send | None = None

    def sent(self, send: Send) -> Iterator[Action]:
        """As `Stage.sent`."""
        held, self._held = self._held, None
        if held is None:
            yield from super().sent(send)
        else:
            yield from (send, held)

    def reached(self, rest: Send) -> Iterable[Action]:
        """As `_Once.reached`."""
        self._held = rest
        return ()

    def end(self) -> Iterable[Action]:
        """As `Stage.end`: the last event has none behind it."""
        held, self._held = self._held, None
        return () if held is None else (held,)
