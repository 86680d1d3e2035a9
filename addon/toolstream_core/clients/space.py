"""Which points of the space can matter to one stream: the others read it as a point with fewer deviations does."""

from __future__ import annotations

from itertools import chain, combinations, product
from typing import TYPE_CHECKING, Final

from toolstream_core.calls.json_text import is_object
from toolstream_core.clients.model import (
    AXES,
    STANDARD,
    Adding,
    Arguments,
    Entries,
    Id,
    Kept,
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
    *(Key.FIRST_OF_INDEX, Key.ONLY_OF_INDEX, Key.CHANGED_INDEX, Key.POSITION, Key.PLACE, Key.ENTRY, Key.ONE),
)
KEYS: Final[Mapping[CallForm, tuple[Key, ...]]] = {
    CallForm.DELTAS: _OF_DELTAS,
    CallForm.ANNOUNCED: (
        *(Key.ITEM, Key.ID, Key.GIVEN_ID, Key.FIRST_OF_INDEX, Key.LAST, Key.FIRST_OPENED, Key.ENTRY, Key.ONE),
    ),
    CallForm.WHOLE: (Key.ID, Key.PLACE, Key.ENTRY, Key.ONE),
}
"""The keys, beside the protocol's own, that clients go by."""
MAX_CONTINUED: Final = 100
"""Calls, at most, that may have one buffer."""
_ADDINGS: Final[Mapping[CallForm, tuple[Adding, ...]]] = {
    CallForm.DELTAS: (Adding.WHOLE, Adding.HEADER, Adding.NEXT, Adding.REPLACE),
    CallForm.ANNOUNCED: (Adding.REPLACE,),
    CallForm.WHOLE: (),
}


def groupings(form: CallForm, entries: Sequence[Entry], most: int) -> Iterator[ClientModel]:
    """The models that may differ in which entries make a call, those of fewest deviations first."""
    axes = _axes(form, entries)
    for count in range(most + 1):
        for names in combinations(axes, count):
            for values in product(*(axes[name] for name in names)):
                yield STANDARD.having(values)


def concerning(form: CallForm, entries: Sequence[Entry]) -> list[Deviation]:
    """The deviations that can show in a stream, of all axes."""
    others = (values[1:] for axis, values in AXES.items() if axis in ("name", "invalid", "no_object"))
    arguments = () if form is CallForm.WHOLE else tuple(Arguments)[1:]
    named = any(one.fragment.item_id for one in entries)
    ids = (one for one in tuple(Id)[1:] if named or one is not Id.ITEM)
    left_out = [one for one in tuple(Kept)[1:] if form is CallForm.DELTAS or one not in (Kept.PADDED, Kept.WITH_ID)]
    grouping = chain.from_iterable(_axes(form, entries).values())
    return [*grouping, *chain.from_iterable(others), *ids, *arguments, *objects(entries)[1:], *left_out]


def _axes(form: CallForm, entries: Sequence[Entry]) -> dict[str, tuple[Deviation, ...]]:
    """The axes that concern which entries make a call, with the deviations that can show in this stream."""
    several = any(one.place for one in entries)
    without = form is CallForm.DELTAS and any(not isinstance(one.fragment.index, int) for one in entries)
    continued = (Adding.CONTINUED,) if continues(form, entries) else ()
    finish = (Adding.FINISH,) if any(one.finished for one in entries) else ()
    named = any(one.fragment.item_id for one in entries)
    return {
        "key": tuple(one for one in KEYS[form] if named or one is not Key.ITEM),
        "no_index": tuple(NoIndex)[1:] if without else (),
        "entries": (Entries.FIRST,) if several else (),
        "adding": (*_ADDINGS[form], *continued, *finish),
        "source": tuple(_sources(form, entries)),
    }


def continues(form: CallForm, entries: Sequence[Entry]) -> bool:
    """Whether a buffer that is never reset shows. Of many calls it is not tried: each would repeat all before it."""
    opened = sum(one.fragment.phase is Phase.OPEN for one in entries)
    return form is CallForm.ANNOUNCED and 1 < opened <= MAX_CONTINUED


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
