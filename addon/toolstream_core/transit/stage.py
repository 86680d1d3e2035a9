"""What a transit fault can do: replace the actions of one stream. Knows nothing of time or sockets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, override

from toolstream_core.transit.actions import Action, Send

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolstream_core.transit.context import FaultContext
    from toolstream_core.transit.points import Point


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
