"""Calls that are text, never came or got lost, to be made: what each protocol is given for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.model import Event
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer

type Payload = dict[str, Any]


class Wanted(Protocol):
    """A call that is to be made."""

    @property
    def name(self) -> str:
        """Of the tool."""
        ...

    @property
    def arguments(self) -> str:
        """JSON text of an object."""
        ...


class Promotion(NamedTuple):
    """Calls that are to be made, and where."""

    event: Event
    """The event that says the finish: they come before it. Without one, any event that tells how events look there."""
    calls: Sequence[tuple[str, Wanted]]
    """Each with an id."""
    place: int
    """The next free index of a call, content block or output item."""
    before: int
    """How many calls came before them: their place where calls are counted apart from content."""
    writer: Writer
    choice: int = 0
    """The choice that they are of."""

    def finished(self, payload: Payload) -> Frame:
        """The event that says the finish, as it came where it says `payload`."""
        frame = self.event.frame
        return frame if payload == frame.json else self.writer.rewrite(frame, payload)

    def made(self, *payloads: Payload) -> list[Frame]:
        """New events, each named by its `type`."""
        return [self.writer.make(payload, self.event.frame.number, payload["type"]) for payload in payloads]
