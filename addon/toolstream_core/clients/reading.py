"""What a client makes of an answer: its model run over the events that it got."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.clients.entries import entries_of
from toolstream_core.clients.fields import arguments_of, id_of, name_of, named, readable
from toolstream_core.clients.grouping import grouped
from toolstream_core.clients.model import Id, Kept
from toolstream_core.clients.opened import Group
from toolstream_core.clients.outcome import is_valid, kept_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.clients.entries import Entry, ReceivedEvent
    from toolstream_core.clients.model import ClientModel
    from toolstream_core.protocols.call_form import CallForm


class ReadCall(NamedTuple):
    """A call as a client understood it."""

    id: str
    """`""` where it has none, and where the client makes one up."""
    name: str
    arguments: str


def reads(model: ClientModel, form: CallForm, events: Iterable[ReceivedEvent]) -> list[ReadCall]:
    """The calls that the client of `model` makes of an answer's events."""
    return read_entries(model, form, entries_of(events))


def read_entries(model: ClientModel, form: CallForm, entries: Sequence[Entry]) -> list[ReadCall]:
    """As `reads`, of entries at hand."""
    return [
        ReadCall(
            "" if model.id in (Id.OWN, Id.UNIQUE) else id_of(group, model.id),
            name_of(group, model.name),
            kept_arguments(
                arguments_of(group, form, model.source, model.arguments, model.objects), model.invalid, model.no_object
            ),
        )
        for group in kept(grouped(model, form, entries), form, model)
    ]


def kept(groups: Sequence[Group], form: CallForm, model: ClientModel) -> list[Group]:
    """The calls that the client keeps in the end."""
    known = [one for one in groups if readable(one, model.source)]
    match model.kept:
        case Kept.ALL:
            return known
        case Kept.PADDED:
            return padded(known)
        case Kept.NAMED:
            return [one for one in known if named(one)]
        case Kept.WITH_ID:
            return [one for one in known if one.id]
        case Kept.FIRST:
            return known[:1]
        case Kept.LAST:
            return known[-1:]
    texts = [arguments_of(one, form, model.source, model.arguments, model.objects) for one in known]
    return [one for one, text in zip(known, texts, strict=True) if is_valid(text)]


MAX_PADDED = 128
"""Places that a list of calls is filled up to."""


def padded(groups: Sequence[Group]) -> list[Group]:
    """The calls at the places that their indexes say, and empty ones where there is none."""
    places = {one.index: one for one in groups if one.index is not None and 0 <= one.index < MAX_PADDED}
    if len(places) < len(groups):
        return list(groups)
    return [places.get(place) or Group(place, place) for place in range(max(places, default=-1) + 1)]
