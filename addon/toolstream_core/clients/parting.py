"""Where a client's reading of an answer parts from the reading that the protocols mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.clients.entries import shortened
from toolstream_core.clients.fields import CallValues
from toolstream_core.clients.grouping import grouped, splits
from toolstream_core.clients.model import STANDARD, Adding, Key, NoIndex
from toolstream_core.clients.outcome import kept, kept_arguments
from toolstream_core.clients.stepping import Stepper
from toolstream_core.model import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.clients.entries import Entry
    from toolstream_core.clients.model import ClientModel
    from toolstream_core.clients.stepping import Change
    from toolstream_core.model import Json
    from toolstream_core.protocols.call_form import CallForm

_BY_ID = frozenset({Key.CHANGED_ID, Key.PRESENT_ID, Key.GIVEN_ID, Key.ID, Key.NEWEST_OF_INDEX, Key.FIRST_OF_INDEX})
_BY_BOTH = frozenset({Key.INDEX_AND_ID, Key.LONGER_ID, Key.ONLY_OF_INDEX})
_GROUPING = ("key", "no_index", "entries", "adding", "source")
_VALUES = (("id",), ("name",), ("arguments", "objects", "source"))
"""The axes that decide on id, name and arguments."""
_END = ("invalid", "no_object", "kept", "source")
SHOWN = 24
"""Characters of an id that are shown."""


class Parting(NamedTuple):
    """Where two readings of an answer part."""

    event: int
    seen: str
    """What the client went by there, with its key, as text; `""` where that is no single value."""
    axes: tuple[str, ...] = ()
    """The axes of `ClientModel` one of which shows there; none: nothing shows in an entry."""
    change: Change | None = None
    """What the entry does to the client's calls, where it belongs to another call than by the protocol."""


def parting(model: ClientModel, form: CallForm, entries: Sequence[Entry]) -> Parting | None:
    """Where `model` first reads `entries` otherwise than the protocols mean; `None` where it never does."""
    if model == STANDARD or not entries:
        return None
    short = shortened(entries)
    read = entries if any(splits(one, form, short) for one in (model, STANDARD)) else short
    found = [*_of_groups(model, form, read), *_of_values(model, form, read)]
    # Made-up ids and calls show in no entry: they are there from the first one on.
    return min(found, default=Parting(entries[0].event, ""), key=lambda one: one.event)


def _of_groups(model: ClientModel, form: CallForm, entries: Sequence[Entry]) -> Iterator[Parting]:
    """The first entry that belongs to another call, or to none."""
    usual, theirs = _openers(STANDARD, form, entries), _openers(model, form, entries)
    stepper = Stepper(model, form)
    for entry in entries:
        change = stepper.take(entry)[0]
        if usual.get(id(entry)) != theirs.get(id(entry)):
            yield Parting(entry.event, _went_by(model, entry), _GROUPING, change)
            return


def _openers(model: ClientModel, form: CallForm, entries: Sequence[Entry]) -> dict[int, int]:
    """By entry, the entry that opened its call."""
    return {id(one): id(group.entries[0]) for group in grouped(model, form, entries) for one in group.entries}


def _went_by(model: ClientModel, entry: Entry) -> str:
    """The value of the field that the client goes by."""
    fragment = entry.fragment
    said, index = _shown(fragment.id), _shown(fragment.index)
    if model.key in _BY_ID or (model.key is Key.PROTOCOL and model.adding is Adding.REPLACE):
        by_item = fragment.id is ABSENT and fragment.item_id is not ABSENT
        return f"item_id {_shown(fragment.item_id)}" if by_item else f"id {said}"
    if model.key in _BY_BOTH:
        return f"index {index}, id {said}"
    if model.key is Key.CHANGED_INDEX or (model.key is Key.PROTOCOL and model.no_index is not NoIndex.ZERO):
        return f"index {index}"
    return f"item_id {_shown(fragment.item_id)}" if model.key is Key.ITEM else ""


def _shown(value: Json) -> str:
    if value is ABSENT:
        return "absent"
    if not isinstance(value, str):
        return "null" if value is None else str(value)
    short = value if len(value) <= SHOWN else f"{value[: SHOWN // 2]}…{value[-SHOWN // 2 + 1 :]}"
    return f'"{short}"'


def _of_values(model: ClientModel, form: CallForm, entries: Sequence[Entry]) -> Iterator[Parting]:
    """The first entry of each call from which on its id, name or arguments are read otherwise, to the end."""
    groups = grouped(model, form, entries)
    left = set(map(id, groups)) - set(map(id, kept(groups, form, model)))
    for group in groups:
        usual, theirs = CallValues(STANDARD, form), CallValues(model, form, group.before)
        since: list[Entry | None] = [None, None, group.entries[0] if group.before else None]
        values = (*_VALUES[:-1], ("adding",)) if group.before else _VALUES
        for entry in group.entries:
            edits = zip(usual.take(group, entry), theirs.take(group, entry), strict=True)
            for at, (one, other) in enumerate(edits):
                if (since[at] is None and one == other) or usual.all[at].same_as(theirs.all[at]):
                    since[at] = None
                else:
                    since[at] = since[at] or entry
        for entry_since, axes in zip(since, values, strict=True):
            if entry_since is not None:
                yield Parting(entry_since.event, "", axes)
        text = theirs.arguments.text()
        if id(group) in left or kept_arguments(text, model.invalid, model.no_object) != text:
            yield Parting(group.entries[-1].event, "", _END)
