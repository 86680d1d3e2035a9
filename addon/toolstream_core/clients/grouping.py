"""Which entries a client takes for one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.json_text import is_object
from toolstream_core.calls.open_call import nonblank
from toolstream_core.clients.fields import ALONE
from toolstream_core.clients.keys import LOOKUPS, stated_again
from toolstream_core.clients.model import Adding, Entries, Key, NoIndex, Source
from toolstream_core.clients.opened import Calls, Group
from toolstream_core.model import Phase
from toolstream_core.protocols.call_form import CallForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.clients.entries import Entry
    from toolstream_core.clients.model import ClientModel


def grouped(model: ClientModel, form: CallForm, entries: Sequence[Entry]) -> list[Group]:
    """The calls that the client of `model` makes of `entries`, in the order in which it opens them."""
    calls = Calls(form, model.no_index)
    first = entries[0].fragment.choice if entries else 0
    for entry in entries:
        if entry.fragment.choice == first and _is_read(model, entry):
            _take(model, calls, entry)
    for group in calls.groups:
        group.alone = ALONE.get(model.source)
    return calls.groups


def _is_read(model: ClientModel, entry: Entry) -> bool:
    if entry.repeated and model.source is not Source.MESSAGE:
        return False
    if model.adding is Adding.FINISH and entry.finished:
        return False
    if model.no_index is NoIndex.DROPPED and not isinstance(entry.fragment.index, int):
        return False
    return model.entries is Entries.ALL or entry.place == 0


def _take(model: ClientModel, calls: Calls, entry: Entry) -> None:
    group = _group(model, calls, entry)
    if group is None:
        return
    if model.adding is Adding.WHOLE and group.whole:
        return
    if model.adding is Adding.REPLACE and _identified(entry):
        group.entries.clear()
    group.entries.append(entry)
    calls.touched(group, entry)
    if model.adding in (Adding.WHOLE, Adding.HEADER, Adding.NEXT) and not group.whole:
        group.text += entry.fragment.arguments if isinstance(entry.fragment.arguments, str) else ""
        group.whole = group.text.rstrip().endswith("}") and is_object(group.text)


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
