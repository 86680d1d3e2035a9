"""The calls that a client has opened so far in a response."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.calls.open_call import nonblank
from toolstream_core.calls.scanner import JsonScanner
from toolstream_core.clients.model import NoIndex
from toolstream_core.protocols.call_form import CallForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.clients.entries import Entry
    from toolstream_core.model import Phase


class ObjectText:
    """Arguments, fragment by fragment, until they are a complete JSON object."""

    def __init__(self) -> None:
        """Nothing has come."""
        self._scanner = JsonScanner()
        self._first = ""
        self._spilled = False

    def closed_by(self, text: str) -> bool:
        """Whether all text so far, with `text`, is one object."""
        self._first = self._first or text.lstrip(WHITE)[:1]
        end = self._scanner.feed(text)
        self._spilled = self._spilled or bool(text[end:].strip(WHITE))
        return self._first == "{" and self._scanner.whole and not self._spilled


@dataclass(slots=True, eq=False)
class Group:
    """Entries that a client puts into one call."""

    place: int
    """Its place among the client's calls, in the order in which they were opened."""
    index: int | None
    """The index that it was opened with."""
    entries: list[Entry] = field(default_factory=list)
    before: Sequence[Entry] = ()
    """Deltas of earlier calls whose arguments the client did not reset when it opened this one."""
    id: str = ""
    """The first id that says something."""
    item_id: str = ""
    """The first item id that says something."""
    object: ObjectText = field(default_factory=ObjectText)
    """Its arguments so far, for clients that care whether they are complete."""
    whole: bool = False
    alone: Phase | None = None
    """The phase of the only events that the client takes the call from; `None`: it reads all of them."""


class Shelf:
    """Calls among which an entry finds its own: those of one index, or of all."""

    def __init__(self, *groups: Group) -> None:
        """`groups` in the order in which they were opened."""
        self.groups: list[Group] = []
        self.by_id: dict[str, Group] = {}
        """The newest call of each first id."""
        self.unnamed: dict[int, Group] = {}
        """Calls without an id so far, by place."""
        for group in groups:
            self.add(group)

    def add(self, group: Group) -> None:
        """Add the newest call."""
        self.groups.append(group)
        if group.id:
            self.by_id[group.id] = group
        else:
            self.unnamed[group.place] = group

    def name(self, group: Group) -> None:
        """Take the first id of a call."""
        del self.unnamed[group.place]
        if group.id not in self.by_id or self.by_id[group.id].place < group.place:
            self.by_id[group.id] = group

    def same_id(self, said: str) -> Group | None:
        """The newest call with that id or with none."""
        unnamed, named = next(reversed(self.unnamed.values()), None), self.by_id.get(said)
        return max((one for one in (unnamed, named) if one is not None), key=lambda one: one.place, default=None)


class Calls:
    """The calls that a client has opened."""

    def __init__(self, form: CallForm, no_index: NoIndex) -> None:
        """`no_index`: what it does with an entry without an index, where the index decides."""
        self.form = form
        self.no_index = no_index
        self.groups: list[Group] = []
        self.by_index: dict[int, Shelf] = {}
        self._shelves: dict[int, Shelf] = {}
        """By place of the call."""
        self.by_id: dict[str, Group] = {}
        """The newest call that has had an entry of an id."""
        self.by_item: dict[str, Group] = {}
        """The newest call of each first item id."""
        self.last: Group | None = None
        """That of the entry before."""
        self.entry: Entry | None = None
        """The entry before."""

    @property
    def first(self) -> Group | None:
        """The call that was opened first."""
        return self.groups[0] if self.groups else None

    def new(self, entry: Entry) -> Group:
        """A call opened by `entry`."""
        index = entry.fragment.index
        at = index if isinstance(index, int) else None
        group = Group(len(self.groups), at)
        self.groups.append(group)
        if at is None and self.form is CallForm.DELTAS:
            at = entry.place if self.no_index is NoIndex.PLACE else 0 if self.no_index is NoIndex.ZERO else None
        if at is not None:
            shelf = self._shelves[group.place] = self.by_index.setdefault(at, Shelf())
            shelf.add(group)
        return group

    def touched(self, group: Group, entry: Entry) -> None:
        """`entry` was added to `group`."""
        said, item = nonblank(entry.fragment.id), nonblank(entry.fragment.item_id)
        if said and not group.id:
            group.id = said
            if group.place in self._shelves:
                self._shelves[group.place].name(group)
        if item and not group.item_id:
            group.item_id = item
            if item not in self.by_item or self.by_item[item].place < group.place:
                self.by_item[item] = group
        if said or item:
            self.by_id[said or item] = group
        self.last, self.entry = group, entry

    def at(self, index: object) -> Shelf:
        """The calls of that index; none where it is no index."""
        return self.by_index.get(index, _EMPTY) if isinstance(index, int) else _EMPTY

    def of_index(self, entry: Entry) -> Shelf:
        """The calls of an entry's index; where it has none, those that the client takes it for."""
        index = entry.fragment.index
        if isinstance(index, int):
            return self.at(index)
        match self.no_index:
            case NoIndex.ZERO if self.form is CallForm.DELTAS:
                return self.at(0)
            case NoIndex.PLACE:
                return self.at(entry.place)
            case NoIndex.NEW:
                return _EMPTY
            case NoIndex.ID if said := nonblank(entry.fragment.id):
                return Shelf(self.by_id[said]) if said in self.by_id else _EMPTY
        return _EMPTY if self.last is None else Shelf(self.last)


_EMPTY = Shelf()
