"""What is remembered of a Chat Completions stream while it is mended: choices, entries, events on their way."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolstream_core.defects.menders.chat_call import KnownCall
    from toolstream_core.defects.menders.told import Told
    from toolstream_core.model import Event, Fragment


class Choice:
    """The calls of one choice, as the client has been told them."""

    def __init__(self, number: int) -> None:
        """A choice of which nothing has been told."""
        self.number = number
        self.known: list[KnownCall] = []
        self.taken: dict[int, KnownCall] = {}
        self.ids: dict[str, KnownCall] = {}
        self.finish: str | None = None
        """The finish reason that the client has."""
        self.finish_event = 0
        self.said: set[str] = set()
        """Every finish reason that came."""
        self.held: str | None = None
        """A finish reason that came too early and is still owed."""

    def free_index(self) -> int:
        """The index that comes next."""
        return max(self.taken, default=-1) + 1


class Part:
    """One entry of one event."""

    __slots__ = ("fragment", "known", "place", "told")

    def __init__(self, fragment: Fragment, known: KnownCall, told: Told, place: int) -> None:
        """`place` is the entry's among those of its choice."""
        self.fragment = fragment
        self.known = known
        self.told = told
        self.place = place


class Waiting:
    """One event on its way."""

    __slots__ = ("bare", "event", "frame", "moved", "parts", "said")

    def __init__(self, event: Event, parts: list[Part]) -> None:
        """`parts` are its entries."""
        self.event = event
        self.frame = event.frame
        self.said = event.said
        self.parts = parts
        self.bare = False
        """Whether choices without a delta are to get one."""
        self.moved: dict[int, bool] = {}
        """Choices whose final message's calls were said as deltas, and whether no delta has said anything else."""
