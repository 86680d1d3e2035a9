"""Which points of the space can matter to one stream: the others read it as a point with fewer deviations does."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, Final

from toolstream_core.calls.json_text import is_object
from toolstream_core.clients.model import (
    STANDARD,
    Adding,
    Entries,
    Key,
    NoIndex,
    Objects,
    Source,
)
from toolstream_core.model import Phase
from toolstream_core.protocols.call_form import CallForm

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from toolstream_core.clients.entries import Entry
    from toolstream_core.clients.model import ClientModel, Deviation

_OF_DELTAS: Final = (
    *(Key.CHANGED_ID, Key.PRESENT_ID, Key.GIVEN_ID, Key.ID, Key.INDEX_AND_ID, Key.LONGER_ID, Key.NEWEST_OF_INDEX),
    *(Key.FIRST_OF_INDEX, Key.ONLY_OF_INDEX, Key.CHANGED_INDEX, Key.PLACE, Key.ENTRY, Key.ONE),
)
KEYS: Final[Mapping[CallForm, tuple[Key, ...]]] = {
    CallForm.DELTAS: _OF_DELTAS,
    CallForm.ANNOUNCED: (Key.ITEM, Key.ID, Key.GIVEN_ID, Key.LAST, Key.ENTRY, Key.ONE),
    CallForm.WHOLE: (Key.ID, Key.PLACE, Key.ONE),
}
"""The keys, beside the protocol's own, that clients go by."""


def groupings(form: CallForm, entries: Sequence[Entry], most: int) -> Iterator[ClientModel]:
    """The models that may differ in which entries make a call, those of fewest deviations first."""
    axes = _axes(form, entries)
    for count in range(most + 1):
        for names in combinations(axes, count):
            for values in product(*(axes[name] for name in names)):
                yield STANDARD.having(values)


def _axes(form: CallForm, entries: Sequence[Entry]) -> dict[str, tuple[Deviation, ...]]:
    """The axes that concern which entries make a call, with the deviations that can show in this stream."""
    fragments = [one.fragment for one in entries]
    several = any(one.place for one in entries)
    without = form is CallForm.DELTAS and any(not isinstance(one.index, int) for one in fragments)
    adding = (
        (Adding.WHOLE, Adding.HEADER, Adding.NEXT, Adding.REPLACE) if form is CallForm.DELTAS else (Adding.REPLACE,)
    )
    return {
        "key": KEYS[form],
        "no_index": tuple(NoIndex)[1:] if without else (),
        "entries": (Entries.FIRST,) if several else (),
        "adding": (*adding, Adding.FINISH) if any(one.finished for one in entries) else adding,
        "source": tuple(_sources(form, entries)),
    }


def _sources(form: CallForm, entries: Sequence[Entry]) -> Iterator[Source]:
    """Where a client may look that goes by what this stream says."""
    if any(one.repeated for one in entries):
        yield Source.MESSAGE
    if form is not CallForm.ANNOUNCED:
        return
    phases = {one.fragment.phase for one in entries if one.fragment.arguments}
    said_again = {Source.DONE: Phase.ARGUMENTS, Source.ITEM: Phase.CLOSE, Source.COMPLETED: Phase.WHOLE}
    yield from (source for source, phase in said_again.items() if phase in phases)
    if phases.intersection(said_again.values()):
        yield Source.DELTAS
    yield Source.START
    if Phase.OPEN in phases:
        yield Source.START_AND_DELTAS


def objects(entries: Sequence[Entry]) -> tuple[Objects, ...]:
    """What may become of objects, where there are any in place of text."""
    odd = (one.fragment for one in entries if not one.fragment.well_formed)
    some = any(isinstance(one.arguments, str) and is_object(one.arguments) for one in odd)
    return tuple(Objects) if some else (Objects.JSON,)
