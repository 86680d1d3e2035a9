"""Calls to write that were text, did not arrive or were lost: the input of each protocol's writer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.model import Event
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer

type Payload = dict[str, Any]


class Wanted(Protocol):
    """A call to write."""

    @property
    def name(self) -> str:
        """The name of the tool."""
        ...

    @property
    def arguments(self) -> str:
        """JSON text of an object."""
        ...


class Promotion(NamedTuple):
    """Calls to write, and their place."""

    event: Event
    """The event with the finish reason, which follows them; without one, any event as a pattern."""
    calls: Sequence[tuple[str, Wanted]]
    """Each with an id."""
    place: int
    """The next free index of a call, content block or output item."""
    before: int
    """The number of calls before them, for protocols that count calls apart from content."""
    writer: Writer
    choice: int = 0
    """The choice that they belong to."""

    def finished(self, payload: Payload) -> Frame:
        """The event with the finish reason, with `payload`; unchanged if it has that already."""
        frame = self.event.frame
        return frame if payload == frame.json else self.writer.rewrite(frame, payload)

    def made(self, *payloads: Payload) -> list[Frame]:
        """New events, each named after its `type`."""
        return [self.writer.make(payload, self.event.frame.number, payload["type"]) for payload in payloads]
