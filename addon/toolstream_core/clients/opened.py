"""The calls that a client has opened, while it goes through an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolstream_core.calls.open_call import nonblank
from toolstream_core.clients.model import NoIndex
from toolstream_core.protocols.call_form import CallForm

if TYPE_CHECKING:
    from toolstream_core.clients.entries import Entry
    from toolstream_core.model import Phase


@dataclass(slots=True, eq=False)
class Group:
    """Entries that a client takes for one call."""

    index: int | None
    """The index that it was opened with."""
    entries: list[Entry] = field(default_factory=list)
    id: str = ""
    """The first id that says something."""
    item_id: str = ""
    """The first item id that says something."""
    text: str = ""
    """Its arguments so far, where it matters whether they are whole."""
    whole: bool = False
    alone: Phase | None = None
    """The phase of the only events that the client takes the call from; `None`: it reads all of them."""


class Calls:
    """The calls that a client has opened."""

    def __init__(self, form: CallForm, no_index: NoIndex) -> None:
        """`no_index`: what it does with an entry without an index, where the index decides."""
        self.form = form
        self.no_index = no_index
        self.groups: list[Group] = []
        self.by_index: dict[int, list[Group]] = {}
        self.by_id: dict[str, Group] = {}
        """The newest call that has had an entry of an id."""
        self.last: Group | None = None
        """That of the entry before."""
        self.entry: Entry | None = None
        """The entry before."""

    def new(self, entry: Entry) -> Group:
        """A call opened by `entry`."""
        index = entry.fragment.index
        place = index if isinstance(index, int) else None
        group = Group(place)
        self.groups.append(group)
        if place is None and self.form is CallForm.DELTAS:
            place = entry.place if self.no_index is NoIndex.PLACE else 0 if self.no_index is NoIndex.ZERO else None
        if place is not None:
            self.by_index.setdefault(place, []).append(group)
        return group

    def touched(self, group: Group, entry: Entry) -> None:
        """`entry` was added to `group`."""
        group.id = group.id or nonblank(entry.fragment.id)
        group.item_id = group.item_id or nonblank(entry.fragment.item_id)
        if said := nonblank(entry.fragment.id) or nonblank(entry.fragment.item_id):
            self.by_id[said] = group
        self.last, self.entry = group, entry

    def of_index(self, entry: Entry) -> list[Group]:
        """The calls of an entry's index; where it has none, those that the client takes it for."""
        index = entry.fragment.index
        if isinstance(index, int):
            return self.by_index.get(index, [])
        last = [] if self.last is None else [self.last]
        match self.no_index:
            case NoIndex.ZERO if self.form is CallForm.DELTAS:
                return self.by_index.get(0, [])
            case NoIndex.PLACE:
                return self.by_index.get(entry.place, [])
            case NoIndex.NEW:
                return []
            case NoIndex.ID if said := nonblank(entry.fragment.id):
                return [self.by_id[said]] if said in self.by_id else []
        return last
