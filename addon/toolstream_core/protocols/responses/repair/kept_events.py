"""Events of one Responses item that are kept back, because nobody can tell yet which item they are of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.defects.identity import LATE_NAME, MISSING_NAME, MISSING_START

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.wire.frame import Frame


class Progress(NamedTuple):
    """How far a stream has come."""

    number: int
    """Of the event at hand; numbers also count the events that the repair was not shown."""
    events: int
    """How many events it was shown."""
    sends: int
    """How often something was sent."""


_START: Final = Progress(0, 0, 0)


class KeptEvents:
    """The kept events of one call, in order."""

    def __init__(self, call: OpenCall) -> None:
        """None yet."""
        self.call = call
        self.frames: list[Frame] = []
        self.size = 0
        """Bytes of all events that were ever kept."""
        self.row: Row = MISSING_START
        """The defect that they are kept for."""
        self._since = _START

    def __iter__(self) -> Iterator[Frame]:
        """Each of them."""
        return iter(self.frames)

    def add(self, frame: Frame, row: Row, progress: Progress) -> None:
        """Keep one more."""
        if not self.frames:
            self._since = progress._replace(number=frame.number)
        self.row = row
        self.frames.append(frame)
        self.size += len(frame.raw)

    @property
    def told(self) -> Row:
        """The defect that is told where they are sent as they came."""
        return MISSING_NAME if self.row is LATE_NAME and not self.call.name else self.row

    def clear(self) -> None:
        """Forget them: they were sent, or something was sent in their place."""
        self.frames = []

    def overtaken(self, now: Progress) -> bool:
        """Whether later events were sent before them."""
        if not self.frames:
            return False
        since = self._since
        return now.sends != since.sends or now.number - since.number != now.events - since.events
