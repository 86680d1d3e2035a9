"""Responses events that are held back: while nobody can be told whose they are, or while they may still change."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.defects.identity import MISSING_START

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.client_item import Item
    from toolstream_core.protocols.responses.repair.repeats import Waiting
    from toolstream_core.stages.repair.emitted import Told
    from toolstream_core.wire.frame import Frame


class Closing(NamedTuple):
    """An event that closes an item before its arguments are whole: waits for the next event."""

    frame: Frame
    payload: dict[str, Json]
    item: Item


class Delta(NamedTuple):
    """A delta on its way; one that may still change waits for the next event."""

    frame: Frame
    payload: dict[str, Json]
    item: Item
    told: Told | None


class Held(NamedTuple):
    """What was held back when an event came."""

    closing: Closing | None
    delta: Delta | None
    waiting: list[Waiting]


class Kept:
    """The events of one item while nobody can be told of it, in order, and what they wait for."""

    def __init__(self) -> None:
        """None yet."""
        self.frames: list[Frame] = []
        self.size = 0
        """Bytes of them."""
        self.row: Row = MISSING_START
        """Why they are kept."""
        self._gone = 0
        self._match = 0

    def __len__(self) -> int:
        """How many there are."""
        return len(self.frames)

    def __iter__(self) -> Iterator[Frame]:
        """Each of them."""
        return iter(self.frames)

    def add(self, frame: Frame, row: Row, gone: int, match: int) -> None:
        """Keep one more; `gone` counts how often something went on, `match` the events that came by."""
        if not self.frames:
            self._gone, self._match = gone, match
        self.row = row
        self.frames.append(frame)
        self.size += len(frame.raw)

    def clear(self) -> None:
        """They have gone on."""
        self.frames = []

    def moved(self, number: int, gone: int, match: int) -> bool:
        """Whether they go on behind others that came later, where event `number` is at hand; counts as for `add`.

        Numbers count also what goes by unread.
        """
        if not self.frames:
            return False
        return gone != self._gone or number - self.frames[0].number != match - self._match
