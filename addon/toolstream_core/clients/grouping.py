"""Assigns entries to calls as a client does."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from toolstream_core.calls.open_call import nonblank
from toolstream_core.calls.scanner import WHITE, JsonScanner
from toolstream_core.clients.model import Adding, ClientModel, Entries, Entry, Key, NoIndex, Source
from toolstream_core.model import Phase
from toolstream_core.protocols.protocol import CallForm


class ObjectText:
    """Detects the fragment that completes a JSON object."""

    def __init__(self) -> None:
        self._scanner = JsonScanner()
        self._first = ""
        self._has_trailing_text = False

    def closed_by(self, text: str) -> bool:
        """Whether all text so far, with `text`, is one object."""
        self._first = self._first or text.lstrip(WHITE)[:1]
        end = self._scanner.feed(text)
        self._has_trailing_text = self._has_trailing_text or bool(text[end:].strip(WHITE))
        return self._first == "{" and self._scanner.is_complete and not self._has_trailing_text


@dataclass(slots=True, eq=False)
class Group:
    """The entries that a client assigns to one call."""

    place: int
    """Its position among the client's calls, in the order in which they were opened."""
    index: int | None
    """The index that it was opened with."""
    entries: list[Entry] = field(default_factory=list)
    before: Sequence[Entry] = ()
    """Deltas of earlier calls whose arguments the client did not reset when it opened this one."""
    id: str = ""
    """The first id that is not empty."""
    item_id: str = ""
    """The first item id that is not empty."""
    object: ObjectText = field(default_factory=ObjectText)
    """Its arguments so far, for clients that check whether they are complete."""
    is_complete: bool = False
    alone: Phase | None = None
    """The phase of the only events that the client reads the call from; `None`: all phases."""


class CallIndex:
    """Calls in which the call of an entry is looked up: those of one index, or all."""

    def __init__(self, *groups: Group) -> None:
        """`groups` in the order in which they were opened."""
        self.groups: list[Group] = []
        self.by_id: dict[str, Group] = {}
        """The newest call of each first id."""
        self.unnamed: dict[int, Group] = {}
        """Calls without an id so far, by position."""
        for group in groups:
            self.add(group)

    def add(self, group: Group) -> None:
        self.groups.append(group)
        if group.id:
            self.by_id[group.id] = group
        else:
            self.unnamed[group.place] = group

    def name(self, group: Group) -> None:
        del self.unnamed[group.place]
        if group.id not in self.by_id or self.by_id[group.id].place < group.place:
            self.by_id[group.id] = group

    def same_id(self, call_id: str) -> Group | None:
        """The newest call with that id, or without any."""
        unnamed, named = next(reversed(self.unnamed.values()), None), self.by_id.get(call_id)
        return max((one for one in (unnamed, named) if one is not None), key=lambda one: one.place, default=None)


class Calls:
    """The calls that a client has opened."""

    def __init__(self, form: CallForm, no_index: NoIndex) -> None:
        """`no_index`: how it treats an entry without an index, if it keys by index."""
        self.form = form
        self.no_index = no_index
        self.groups: list[Group] = []
        self.by_index: dict[int, CallIndex] = {}
        self._by_place: dict[int, CallIndex] = {}
        """By place of the call."""
        self.by_id: dict[str, Group] = {}
        """The newest call with an entry of each id."""
        self.by_item: dict[str, Group] = {}
        """The newest call of each first item id."""
        self.last: Group | None = None
        """The call of the entry before."""
        self.entry: Entry | None = None
        """The entry before."""

    def new(self, entry: Entry) -> Group:
        index = entry.fragment.index
        at = index if isinstance(index, int) else None
        group = Group(len(self.groups), at)
        self.groups.append(group)
        if at is None and self.form is CallForm.DELTAS:
            at = entry.place if self.no_index is NoIndex.PLACE else 0 if self.no_index is NoIndex.ZERO else None
        if at is not None:
            calls = self._by_place[group.place] = self.by_index.setdefault(at, CallIndex())
            calls.add(group)
        return group

    def note(self, group: Group, entry: Entry) -> None:
        call_id, item = nonblank(entry.fragment.id), nonblank(entry.fragment.item_id)
        if call_id and not group.id:
            group.id = call_id
            if group.place in self._by_place:
                self._by_place[group.place].name(group)
        if item and not group.item_id:
            group.item_id = item
            if item not in self.by_item or self.by_item[item].place < group.place:
                self.by_item[item] = group
        if call_id or item:
            self.by_id[call_id or item] = group
        self.last, self.entry = group, entry

    def at(self, index: object) -> CallIndex:
        """The calls of that index; none unless it is an integer."""
        return self.by_index.get(index, _EMPTY) if isinstance(index, int) else _EMPTY

    def of_index(self, entry: Entry) -> CallIndex:
        """The calls of an entry's index; without an index, those that the client uses instead."""
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
            case NoIndex.ID if call_id := nonblank(entry.fragment.id):
                return CallIndex(self.by_id[call_id]) if call_id in self.by_id else _EMPTY
        return _EMPTY if self.last is None else CallIndex(self.last)


_EMPTY = CallIndex()


class _New(enum.Enum):
    NEW = "a new call"


NEW: Final = _New.NEW
type Found = Group | _New | None
"""The call of an entry; `NEW`: a new one; `None`: the client skips the entry."""


def _repeated_call(calls: Calls, key: Key, entry: Entry) -> Group | None:
    """The call that an entry closes or repeats; a new one if there is none and the entry has a name."""
    fragment = entry.fragment
    found: Group | None = None
    if key is Key.ITEM:
        found = _of_item(calls, entry)
    elif key in (Key.ID, Key.GIVEN_ID):
        found = calls.by_id.get(_identity(entry))
    elif key in (Key.LAST, Key.ONE) and fragment.phase is not Phase.WHOLE:
        found = calls.last
    elif key is not Key.ENTRY:
        found = _call_at_index(calls, entry)
    return calls.new(entry) if found is None and nonblank(fragment.name) else found


def _call_at_index(calls: Calls, entry: Entry) -> Group | None:
    fragment = entry.fragment
    here = calls.at(fragment.index).groups
    call_id = nonblank(fragment.id)
    if call_id and call_id in calls.by_id and (fragment.phase is Phase.WHOLE or not here):
        return calls.by_id[call_id]
    if here:
        return here[-1]
    return _of_item(calls, entry) or (None if isinstance(fragment.index, int) else calls.last)


def _of_item(calls: Calls, entry: Entry) -> Group | None:
    return calls.by_item.get(nonblank(entry.fragment.item_id))


def _identity(entry: Entry) -> str:
    return nonblank(entry.fragment.id) or nonblank(entry.fragment.item_id)


def _by_index(calls: Calls, entry: Entry) -> Found:
    here = calls.of_index(entry).groups
    if here:
        return here[-1]
    if calls.form is not CallForm.ANNOUNCED or nonblank(entry.fragment.name):
        return NEW
    return _of_item(calls, entry)


def _by_index_alone(calls: Calls, entry: Entry) -> Found:
    found = _by_index(calls, entry)
    return NEW if found is None and entry.fragment.phase is Phase.OPEN else found


def _by_id(calls: Calls, entry: Entry) -> Found:
    call_id = _identity(entry)
    return calls.by_id.get(call_id, NEW) if call_id else calls.last or NEW


def _by_changed_id(calls: Calls, entry: Entry) -> Found:
    call_id = nonblank(entry.fragment.id)
    return NEW if calls.last is None or call_id not in ("", calls.last.id) else calls.last


def _by_present_id(calls: Calls, entry: Entry) -> Found:
    return NEW if isinstance(entry.fragment.id, str) else calls.last or NEW


def _by_given_id(calls: Calls, entry: Entry) -> Found:
    return NEW if _identity(entry) else calls.last or NEW


def _pair(entry: Entry) -> str:
    call_id, index = entry.fragment.id, entry.fragment.index
    return f"{call_id if isinstance(call_id, str) else ''}/{index if isinstance(index, int) else ''}"


def _by_index_and_id(calls: Calls, entry: Entry) -> Found:
    return NEW if calls.last is None or calls.entry is None or _pair(entry) != _pair(calls.entry) else calls.last


def _by_longer_id(calls: Calls, entry: Entry) -> Found:
    """By index and id, but a shorter key than that of the open call continues that call."""
    if calls.last is None:
        return NEW
    opened = _pair(calls.last.entries[0])
    pair = _pair(entry)
    return NEW if pair != opened and len(pair) >= len(opened) else calls.last


def _of_index(calls: Calls, entry: Entry, *, place: int) -> Found:
    """By id; without one, the call at a position among those of its index."""
    here = calls.of_index(entry)
    if call_id := nonblank(entry.fragment.id):
        return here.same_id(call_id) or NEW
    return here.groups[place] if here.groups else NEW


def _only_of_index(calls: Calls, entry: Entry) -> Found:
    """By id; without one, the only call of the index, or the only call if there is no index; else skipped."""
    index = entry.fragment.index
    if call_id := nonblank(entry.fragment.id):
        return calls.by_id.get(call_id) or next(iter(calls.at(index).unnamed.values()), NEW)
    if not isinstance(index, int) and nonblank(entry.fragment.name):
        return NEW
    here = calls.at(index).groups if isinstance(index, int) else calls.groups
    return NEW if not here else here[0] if len(here) == 1 else None


def _by_changed_index(calls: Calls, entry: Entry) -> Found:
    before = calls.entry.fragment.index if calls.entry is not None else None
    return NEW if calls.last is None or entry.fragment.index != before else calls.last


def _by_position(calls: Calls, entry: Entry) -> Found:
    index, most = entry.fragment.index, len(calls.groups)
    return calls.groups[index] if isinstance(index, int) and -most <= index < most else NEW


def _by_place(calls: Calls, entry: Entry) -> Found:
    return calls.groups[entry.place] if entry.place < len(calls.groups) else NEW


def _opened(calls: Calls, _entry: Entry, *, place: int) -> Found:
    """The call that was opened first, or last."""
    return calls.groups[place] if calls.groups else NEW


LOOKUPS: Final[Mapping[Key, Callable[[Calls, Entry], Found]]] = {
    Key.PROTOCOL: _by_index,
    Key.CHANGED_ID: _by_changed_id,
    Key.PRESENT_ID: _by_present_id,
    Key.GIVEN_ID: _by_given_id,
    Key.ID: _by_id,
    Key.INDEX_AND_ID: _by_index_and_id,
    Key.LONGER_ID: _by_longer_id,
    Key.NEWEST_OF_INDEX: partial(_of_index, place=-1),
    Key.FIRST_OF_INDEX: partial(_of_index, place=0),
    Key.ONLY_OF_INDEX: _only_of_index,
    Key.CHANGED_INDEX: _by_changed_index,
    Key.POSITION: _by_position,
    Key.PLACE: _by_place,
    Key.ITEM: _of_item,
    Key.INDEX_ALONE: _by_index_alone,
    Key.LAST: partial(_opened, place=-1),
    Key.FIRST_OPENED: partial(_opened, place=0),
    Key.ENTRY: lambda *_: NEW,
    Key.ONE: partial(_opened, place=-1),
}
"""The call of an entry, by the key that a client uses."""


_CONTINUED_BY_START: Final = frozenset({Key.INDEX_ALONE, Key.ONE})
"""Keys with which the event that opens a call may belong to an open one."""
ALONE: Final = {Source.ITEM: Phase.CLOSE, Source.COMPLETED: Phase.WHOLE}
"""The phase of the events from which a client also reads the name and the id."""
_UNTIL_WHOLE: Final = frozenset({Adding.WHOLE, Adding.HEADER, Adding.NEXT})
"""The deviations that depend on whether the arguments so far are a complete object."""


class Grouping:
    """Assigns the entries of a response to calls, one at a time, as the client of a model does."""

    def __init__(self, model: ClientModel, form: CallForm, choice: int | None = None) -> None:
        """`choice`: the only one that the client reads; by default that of the first entry."""
        self._model, self._choice = model, choice
        self._calls = Calls(form, model.no_index)
        self._alone = ALONE.get(model.source)
        self._deltas: list[Entry] = []
        """The deltas of all calls, for a client with a single buffer."""

    @property
    def groups(self) -> Sequence[Group]:
        """The calls so far, in the order in which the client opened them."""
        return self._calls.groups

    def take(self, entry: Entry) -> Group | None:
        """The call to which the client adds `entry`; `None` if it skips the entry."""
        if self._choice is None:
            self._choice = entry.fragment.choice
        if entry.fragment.choice != self._choice or not _is_read(self._model, self._calls.form, entry):
            return None
        group = _group(self._model, self._calls, entry)
        if group is None or (self._model.adding is Adding.WHOLE and group.is_complete):
            return None
        if self._model.adding is Adding.OPENED and group is not self.groups[-1]:
            return None
        self._add(group, entry)
        return group

    def _add(self, group: Group, entry: Entry) -> None:
        adding, fragment = self._model.adding, entry.fragment
        group.alone = self._alone
        if adding is Adding.CONTINUED:
            group.before = group.before if group.entries else tuple(self._deltas)
            self._deltas += [entry] if fragment.phase is Phase.MORE else []
        if adding is Adding.REPLACE and _identity(entry) and (group.id or group.item_id):
            group.entries.clear()
        group.entries.append(entry)
        self._calls.note(group, entry)
        if adding in _UNTIL_WHOLE and not group.is_complete and isinstance(fragment.arguments, str):
            group.is_complete = group.object.closed_by(fragment.arguments)


def grouped(model: ClientModel, form: CallForm, entries: Iterable[Entry]) -> Sequence[Group]:
    """The calls to which the client of `model` assigns `entries`, in the order in which it opens them."""
    grouping = Grouping(model, form)
    for entry in entries:
        grouping.take(entry)
    return grouping.groups


def _is_read(model: ClientModel, form: CallForm, entry: Entry) -> bool:
    if entry.repeated and form is CallForm.DELTAS and model.source is not Source.MESSAGE:
        return False
    if model.adding is Adding.FINISH and entry.finished:
        return False
    if model.no_index is NoIndex.DROPPED and not isinstance(entry.fragment.index, int):
        return False
    if model.entries is Entries.BEFORE_FINISH and entry.with_finish:
        return False
    return model.entries is not Entries.FIRST or entry.place == 0


def _group(model: ClientModel, calls: Calls, entry: Entry) -> Group | None:
    """The call that an entry belongs to, a new one if need be; `None` if the client skips it."""
    fragment = entry.fragment
    if fragment.phase in (Phase.WHOLE, Phase.ARGUMENTS, Phase.CLOSE) and calls.form is not CallForm.WHOLE:
        return _repeated_call(calls, model.key, entry)
    if fragment.phase is Phase.OPEN and model.key not in _CONTINUED_BY_START:
        return calls.new(entry)
    if model.key is Key.PROTOCOL and calls.form is CallForm.WHOLE and nonblank(fragment.name):
        return calls.new(entry)
    found = LOOKUPS[model.key](calls, entry)
    if found is None or (found is NEW and model.entries is Entries.FROM_ID and not nonblank(fragment.id)):
        return None
    group = found if isinstance(found, Group) else calls.new(entry)
    if group.is_complete and _begins_anew(model, entry):
        return calls.new(entry)
    return group


def _begins_anew(model: ClientModel, entry: Entry) -> bool:
    """Whether an entry after complete arguments opens another call."""
    fragment = entry.fragment
    if model.adding is Adding.HEADER:
        return bool(nonblank(fragment.name))
    return model.adding is Adding.NEXT and bool(fragment.arguments or fragment.name)
