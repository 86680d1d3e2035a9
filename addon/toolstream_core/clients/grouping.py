"""Which entries a client takes for one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.calls.open_call import nonblank
from toolstream_core.clients.fields import ALONE
from toolstream_core.clients.keys import LOOKUPS, stated_again
from toolstream_core.clients.model import Adding, Entries, Key, NoIndex, Source
from toolstream_core.clients.opened import Calls, Group
from toolstream_core.model import Phase
from toolstream_core.protocols.call_form import CallForm

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.clients.entries import Entry
    from toolstream_core.clients.model import ClientModel

_UNTIL_WHOLE: Final = frozenset({Adding.WHOLE, Adding.HEADER, Adding.NEXT})
"""What depends on whether the arguments so far are a complete object."""


class Grouping:
    """Puts the entries of a response into calls, one entry at a time, as the client of a model does."""

    def __init__(self, model: ClientModel, form: CallForm, choice: int | None = None) -> None:
        """`choice`: the only one that the client reads; by default that of the first entry."""
        self._model, self._choice = model, choice
        self._calls = Calls(form, model.no_index)
        self._alone = ALONE.get(model.source)
        self._deltas: list[Entry] = []
        """Of all calls, for a client that has a single buffer for them."""
        self.splits = False
        """Whether the client opened a call for an entry that stands for several: it would open more for all of them."""

    @property
    def groups(self) -> Sequence[Group]:
        """The calls so far, in the order in which the client opened them."""
        return self._calls.groups

    def take(self, entry: Entry) -> Group | None:
        """The call to which the client adds `entry`; `None` if it skips the entry."""
        if self._choice is None:
            self._choice = entry.fragment.choice
        if entry.fragment.choice != self._choice or not _is_read(self._model, entry):
            return None
        before = len(self.groups)
        group = _group(self._model, self._calls, entry)
        self.splits = self.splits or (entry.times > 1 and len(self.groups) > before)
        if group is None or (self._model.adding is Adding.WHOLE and group.whole):
            return None
        self._add(group, entry)
        return group

    def _add(self, group: Group, entry: Entry) -> None:
        adding, fragment = self._model.adding, entry.fragment
        group.alone = self._alone
        if adding is Adding.CONTINUED:
            group.before = group.before if group.entries else tuple(self._deltas)
            self._deltas += [entry] if fragment.phase is Phase.MORE else []
        if adding is Adding.REPLACE and _identified(entry):
            group.entries.clear()
        group.entries.append(entry)
        self._calls.touched(group, entry)
        if adding in _UNTIL_WHOLE and not group.whole and isinstance(fragment.arguments, str):
            group.whole = group.object.closed_by(fragment.arguments)


def grouped(
    model: ClientModel, form: CallForm, entries: Iterable[Entry], short: Iterable[Entry] | None = None
) -> Sequence[Group]:
    """The calls that the client of `model` makes of `entries`, in the order in which it opens them.

    `short`: the entries shortened, which are taken for them where that does not mislead.
    """
    if short is None:
        return _run(model, form, entries).groups
    grouping = _run(model, form, short)
    return grouped(model, form, entries) if grouping.splits else grouping.groups


def splits(model: ClientModel, form: CallForm, short: Iterable[Entry]) -> bool:
    """Whether the client opens a call for each entry of a run, so that shortened entries mislead."""
    return _run(model, form, short).splits


def _run(model: ClientModel, form: CallForm, entries: Iterable[Entry]) -> Grouping:
    grouping = Grouping(model, form)
    for entry in entries:
        grouping.take(entry)
    return grouping


def _is_read(model: ClientModel, entry: Entry) -> bool:
    if entry.repeated and model.source is not Source.MESSAGE:
        return False
    if model.adding is Adding.FINISH and entry.finished:
        return False
    if model.no_index is NoIndex.DROPPED and not isinstance(entry.fragment.index, int):
        return False
    return model.entries is Entries.ALL or entry.place == 0


def _group(model: ClientModel, calls: Calls, entry: Entry) -> Group | None:
    """The call that an entry belongs to, a new one if need be; `None` where the client passes over it."""
    fragment = entry.fragment
    if fragment.phase in (Phase.WHOLE, Phase.ARGUMENTS, Phase.CLOSE) and calls.form is not CallForm.WHOLE:
        return stated_again(calls, model.key, entry)
    if fragment.phase is Phase.OPEN and model.key is not Key.ONE:
        return calls.new(entry)
    if model.key is Key.PROTOCOL and calls.form is CallForm.WHOLE and nonblank(fragment.name):
        return calls.new(entry)
    found = LOOKUPS[model.key](calls, entry)
    if found is None:
        return None
    group = found if isinstance(found, Group) else calls.new(entry)
    if group.whole and _begins_anew(model, entry):
        return calls.new(entry)
    return group


def _identified(entry: Entry) -> bool:
    return bool(nonblank(entry.fragment.id) or nonblank(entry.fragment.item_id))


def _begins_anew(model: ClientModel, entry: Entry) -> bool:
    """Whether an entry behind whole arguments opens another call."""
    fragment = entry.fragment
    if model.adding is Adding.HEADER:
        return bool(nonblank(fragment.name))
    return model.adding is Adding.NEXT and bool(fragment.arguments or fragment.name)
