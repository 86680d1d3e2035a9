"""How an entry finds its call: one look-up for each key that clients go by."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from toolstream_core.calls.open_call import nonblank
from toolstream_core.clients.model import Key
from toolstream_core.clients.opened import Group
from toolstream_core.model import Phase
from toolstream_core.protocols.call_form import CallForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolstream_core.clients.entries import Entry
    from toolstream_core.clients.opened import Calls


class _New(enum.Enum):
    NEW = "a new call"


NEW: Final = _New.NEW
type Found = Group | _New | None
"""The call of an entry, a new one, or none: the client passes over the entry."""


def stated_again(calls: Calls, key: Key, entry: Entry) -> Group | None:
    """The call that an entry closes, or says whole; a new one where there is none and the entry names its tool."""
    fragment = entry.fragment
    found: Group | None = None
    if key is Key.ITEM:
        found = _of_item(calls, entry)
    elif key in (Key.ID, Key.GIVEN_ID):
        found = calls.by_id.get(nonblank(fragment.id) or nonblank(fragment.item_id))
    elif key in (Key.LAST, Key.ONE) and fragment.phase is not Phase.WHOLE:
        found = calls.last
    elif key is not Key.ENTRY:
        found = _stated(calls, entry)
    return calls.new(entry) if found is None and nonblank(fragment.name) else found


def _stated(calls: Calls, entry: Entry) -> Group | None:
    fragment = entry.fragment
    here = calls.at(fragment.index).groups
    said = nonblank(fragment.id)
    if said and said in calls.by_id and (fragment.phase is Phase.WHOLE or not here):
        return calls.by_id[said]
    if here:
        return here[-1]
    return _of_item(calls, entry) or (None if isinstance(fragment.index, int) else calls.last)


def _of_item(calls: Calls, entry: Entry) -> Group | None:
    return calls.by_item.get(nonblank(entry.fragment.item_id))


def _by_index(calls: Calls, entry: Entry) -> Found:
    here = calls.of_index(entry).groups
    if here:
        return here[-1]
    if calls.form is CallForm.DELTAS or nonblank(entry.fragment.name):
        return NEW
    return _of_item(calls, entry)


def _by_id(calls: Calls, entry: Entry) -> Found:
    said = nonblank(entry.fragment.id) or nonblank(entry.fragment.item_id)
    if not said:
        return calls.last or NEW
    return calls.by_id.get(said, NEW)


def _by_changed_id(calls: Calls, entry: Entry) -> Found:
    said = nonblank(entry.fragment.id)
    same = calls.last is not None and (not said or said == calls.last.id)
    return NEW if calls.last is None or not same else calls.last


def _by_present_id(calls: Calls, entry: Entry) -> Found:
    return NEW if isinstance(entry.fragment.id, str) else calls.last or NEW


def _by_given_id(calls: Calls, entry: Entry) -> Found:
    said = nonblank(entry.fragment.id) or nonblank(entry.fragment.item_id)
    return NEW if said else calls.last or NEW


def _pair(entry: Entry) -> str:
    said, index = entry.fragment.id, entry.fragment.index
    return f"{said if isinstance(said, str) else ''}/{index if isinstance(index, int) else ''}"


def _by_index_and_id(calls: Calls, entry: Entry) -> Found:
    return NEW if calls.last is None or calls.entry is None or _pair(entry) != _pair(calls.entry) else calls.last


def _by_longer_id(calls: Calls, entry: Entry) -> Found:
    """As by index and id, but a key that is shorter than the open call's continues that call."""
    if calls.last is None:
        return NEW
    opened = _pair(calls.last.entries[0])
    said = _pair(entry)
    return NEW if said != opened and len(said) >= len(opened) else calls.last


def _newest_of_index(calls: Calls, entry: Entry) -> Found:
    here = calls.of_index(entry)
    if said := nonblank(entry.fragment.id):
        return here.same_id(said) or NEW
    return here.groups[-1] if here.groups else NEW


def _first_of_index(calls: Calls, entry: Entry) -> Found:
    here = calls.of_index(entry)
    if said := nonblank(entry.fragment.id):
        return here.same_id(said) or NEW
    return here.groups[0] if here.groups else NEW


def _only_of_index(calls: Calls, entry: Entry) -> Found:
    """By id; without one the only call of the index, or the only one where there is no index; else passed over."""
    index = entry.fragment.index
    if said := nonblank(entry.fragment.id):
        return calls.by_id.get(said) or next(iter(calls.at(index).unnamed.values()), NEW)
    if not isinstance(index, int) and nonblank(entry.fragment.name):
        return NEW
    here = calls.at(index).groups if isinstance(index, int) else calls.groups
    return NEW if not here else here[0] if len(here) == 1 else None


def _by_changed_index(calls: Calls, entry: Entry) -> Found:
    before = calls.entry.fragment.index if calls.entry is not None else None
    return NEW if calls.last is None or entry.fragment.index != before else calls.last


def _by_position(calls: Calls, entry: Entry) -> Found:
    index = entry.fragment.index
    fits = isinstance(index, int) and -len(calls.groups) <= index < len(calls.groups)
    return calls.groups[index] if isinstance(index, int) and fits else NEW


def _by_place(calls: Calls, entry: Entry) -> Found:
    return calls.groups[entry.place] if entry.place < len(calls.groups) else NEW


def _by_item(calls: Calls, entry: Entry) -> Found:
    return _of_item(calls, entry)


def _last(calls: Calls, entry: Entry) -> Found:
    del entry
    return calls.groups[-1] if calls.groups else NEW


def _first(calls: Calls, entry: Entry) -> Found:
    del entry
    return calls.first or NEW


def _every(calls: Calls, entry: Entry) -> Found:
    del calls, entry
    return NEW


LOOKUPS: Final[Mapping[Key, Callable[[Calls, Entry], Found]]] = {
    Key.PROTOCOL: _by_index,
    Key.CHANGED_ID: _by_changed_id,
    Key.PRESENT_ID: _by_present_id,
    Key.GIVEN_ID: _by_given_id,
    Key.ID: _by_id,
    Key.INDEX_AND_ID: _by_index_and_id,
    Key.LONGER_ID: _by_longer_id,
    Key.NEWEST_OF_INDEX: _newest_of_index,
    Key.FIRST_OF_INDEX: _first_of_index,
    Key.ONLY_OF_INDEX: _only_of_index,
    Key.CHANGED_INDEX: _by_changed_index,
    Key.POSITION: _by_position,
    Key.PLACE: _by_place,
    Key.ITEM: _by_item,
    Key.LAST: _last,
    Key.FIRST_OPENED: _first,
    Key.ENTRY: _every,
    Key.ONE: _last,
}
"""The call of an entry, by the key that a client goes by."""
