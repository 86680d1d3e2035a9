"""Finds the client models that reproduce the calls that a client returned: the smallest sets of deviations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, pairwise, product
from typing import Final

from toolstream_core.calls.json_text import is_object
from toolstream_core.calls.open_call import nonblank
from toolstream_core.clients.fields import arguments_of, fits, has_objects, identity_of, kept, kept_arguments
from toolstream_core.clients.grouping import Group, grouped
from toolstream_core.clients.model import (
    AXES,
    STANDARD,
    Adding,
    Arguments,
    ClientModel,
    Deviation,
    Entries,
    Entry,
    Id,
    Invalid,
    Kept,
    Key,
    Name,
    NoIndex,
    NoObject,
    Objects,
    Source,
)
from toolstream_core.model import Kind, Phase
from toolstream_core.protocols.protocol import CallForm
from toolstream_core.protocols.requests.conversation import ReturnedCall

_OF_DELTAS: Final = (
    *(Key.CHANGED_ID, Key.PRESENT_ID, Key.GIVEN_ID, Key.ID, Key.INDEX_AND_ID, Key.LONGER_ID, Key.NEWEST_OF_INDEX),
    *(Key.FIRST_OF_INDEX, Key.ONLY_OF_INDEX, Key.CHANGED_INDEX, Key.POSITION, Key.PLACE, Key.ENTRY, Key.ONE),
)
KEYS: Final[Mapping[CallForm, tuple[Key, ...]]] = {
    CallForm.DELTAS: _OF_DELTAS,
    CallForm.ANNOUNCED: (
        *(Key.ITEM, Key.ID, Key.GIVEN_ID, Key.INDEX_ALONE, Key.FIRST_OF_INDEX),
        *(Key.LAST, Key.FIRST_OPENED, Key.ENTRY, Key.ONE),
    ),
    CallForm.WHOLE: (Key.ID, Key.PLACE, Key.ENTRY, Key.ONE),
}
"""The keys that clients use instead of the protocol's own."""
MAX_CONTINUED: Final = 100
"""Maximum number of calls with one buffer."""
_ADDINGS: Final[Mapping[CallForm, tuple[Adding, ...]]] = {
    CallForm.DELTAS: (Adding.WHOLE, Adding.HEADER, Adding.NEXT, Adding.REPLACE),
    CallForm.ANNOUNCED: (Adding.REPLACE,),
    CallForm.WHOLE: (),
}


def groupings(form: CallForm, entries: Sequence[Entry], most: int) -> Iterator[ClientModel]:
    """The models that differ in how they group entries to calls, those of fewest deviations first."""
    axes = _axes(form, entries)
    for count in range(most + 1):
        for names in combinations(axes, count):
            for values in product(*(axes[name] for name in names)):
                yield STANDARD.with_deviations(values)


def possible_deviations(form: CallForm, entries: Sequence[Entry]) -> list[Deviation]:
    """The deviations of all axes that can have an effect on a stream."""
    others = (values[1:] for axis, values in AXES.items() if axis in ("name", "invalid", "no_object"))
    named = any(nonblank(one.fragment.item_id) for one in entries)
    ids = (one for one in tuple(Id)[1:] if named or one is not Id.ITEM)
    elsewhere = (Kept.CLOSED,) if form is CallForm.DELTAS else (Kept.PADDED, Kept.WITH_ID)
    left_out = [one for one in tuple(Kept)[1:] if one not in elsewhere]
    grouping = chain.from_iterable(_axes(form, entries).values())
    return [*grouping, *chain.from_iterable(others), *ids, *_arguments(form)[1:], *objects(entries)[1:], *left_out]


def _arguments(form: CallForm) -> tuple[Arguments, ...]:
    """How a client may read fragments of arguments, if the protocol has fragments."""
    return tuple(Arguments)[:1] if form is CallForm.WHOLE else tuple(Arguments)


def _axes(form: CallForm, entries: Sequence[Entry]) -> dict[str, tuple[Deviation, ...]]:
    """The axes of grouping, with the deviations that can have an effect on this stream."""
    several = (Entries.FIRST,) if any(one.place for one in entries) else ()
    announced = form is CallForm.ANNOUNCED  # the event with the finish reason has only what others had
    ending = (Entries.BEFORE_FINISH,) if not announced and any(one.with_finish for one in entries) else ()
    without = form is CallForm.DELTAS and any(not isinstance(one.fragment.index, int) for one in entries)
    opened = sum(one.fragment.phase is Phase.OPEN for one in entries)
    # A buffer that is never reset. It is not tried for many calls, because each would repeat all before it.
    continued = (Adding.CONTINUED,) if form is CallForm.ANNOUNCED and 1 < opened <= MAX_CONTINUED else ()
    finish = (Adding.FINISH,) if any(one.finished for one in entries) else ()
    late, back = _first_lacks_id(entries), _index_alternates(entries)
    from_id = (Entries.FROM_ID,) if late and form is CallForm.DELTAS else ()
    until_next = (Adding.OPENED,) if back and form is CallForm.DELTAS else ()
    named = any(nonblank(one.fragment.item_id) for one in entries)
    return {
        "key": tuple(one for one in KEYS[form] if named or one is not Key.ITEM),
        "no_index": tuple(NoIndex)[1:] if without else (),
        "entries": (*several, *ending, *from_id),
        "adding": (*_ADDINGS[form], *continued, *finish, *until_next),
        "source": tuple(_sources(form, entries)),
    }


def _first_lacks_id(entries: Sequence[Entry]) -> bool:
    """Whether the first entry of an index has no id."""
    first = {repr(one.fragment.index): one for one in reversed(entries)}
    return any(not nonblank(one.fragment.id) for one in first.values())


def _index_alternates(entries: Sequence[Entry]) -> bool:
    """Whether an index appears again after another one."""
    indexes = [repr(one.fragment.index) for one in entries]
    changes = sum(one != other for one, other in pairwise(indexes))
    return changes >= len(set(indexes)) > 1


def _sources(form: CallForm, entries: Sequence[Entry]) -> Iterator[Source]:
    """The sources that a client may use with this stream."""
    if form is CallForm.DELTAS and any(one.repeated for one in entries):
        yield Source.MESSAGE
    if form is not CallForm.ANNOUNCED:
        return
    phases = {one.fragment.phase for one in entries if one.fragment.arguments}
    with_text = {one.fragment.phase for one in entries if isinstance(one.fragment.arguments, str)}
    said_again = {Source.DONE: Phase.ARGUMENTS, Source.ITEM: Phase.CLOSE, Source.COMPLETED: Phase.WHOLE}
    yield from (source for source, phase in said_again.items() if phase in with_text)
    if phases.intersection(said_again.values()):
        yield Source.DELTAS
    yield Source.START
    if Phase.OPEN in phases:
        yield Source.START_AND_DELTAS


def objects(entries: Sequence[Entry]) -> tuple[Objects, ...]:
    """How a client may read objects instead of argument text, if the stream has any."""
    odd = (one.fragment for one in entries if not one.fragment.well_formed)
    some = any(isinstance(one.arguments, str) and is_object(one.arguments) for one in odd)
    return tuple(Objects) if some else (Objects.JSON,)


MAX_DEVIATIONS: Final = 4
MAX_WITHOUT_CALLS: Final = 1
"""Maximum number of deviations if no call was returned: almost any two would explain that."""
MAX_OF_GROUPING: Final = 2
"""Maximum number of deviations of grouping."""
MANY: Final = 2000
"""Number of entries from which on only one deviation of grouping is tried."""
MAX_REORDERED: Final = 100
"""Maximum number of calls that are compared in another order."""


def any_model(model: ClientModel) -> bool:
    """Return `True` for every model."""
    del model
    return True


def matching_models(
    form: CallForm,
    entries: Sequence[Entry],
    returned: Sequence[ReturnedCall],
    possible: Callable[[ClientModel], bool] = any_model,
) -> list[ClientModel]:
    """The possible models of fewest deviations that read `entries` as `returned`; none if no small set does."""
    best = MAX_DEVIATIONS if returned else MAX_WITHOUT_CALLS
    found: list[ClientModel] = []
    seen: dict[object, int] = {}
    search = _Search(form, returned, objects(entries), possible)
    for model in groupings(form, entries, 1 if len(entries) > MANY else MAX_OF_GROUPING):
        cost = len(model.deviations)
        if cost > best:
            break
        groups = grouped(model, form, entries)
        read = tuple((len(one.before), *map(id, one.entries)) for one in groups)
        partition = (model.source, read)
        if seen.setdefault(partition, cost) < cost:
            continue
        for one in search.models(model, groups, best):
            least = len(one.deviations)
            if least > best:
                continue
            if least < best:
                best, found = least, []
            found.append(one)
    return found


def reproduces(model: ClientModel, form: CallForm, entries: Sequence[Entry], returned: Sequence[ReturnedCall]) -> bool:
    """Whether the client of `model` reads `entries` as `returned`."""
    calls = kept(grouped(model, form, entries), form, model)
    if len(calls) != len(returned):
        return False
    texts = [arguments_of(one, form, model.source, model.arguments, model.objects) for one in calls]
    return any(
        all(identity_of(one, model.name) == two.name for one, two in zip(calls, order, strict=True))
        and _ids_fit(model.id, list(zip(calls, order, strict=True)))
        and all(
            fits(text, model.invalid, model.no_object, two.arguments) for text, two in zip(texts, order, strict=True)
        )
        for order in _orders(calls, returned)
    )


def _cost(model: ClientModel) -> int:
    return len(model.deviations)


class _Search:
    """Searches the rules for reading fields that reproduce the returned calls."""

    def __init__(
        self,
        form: CallForm,
        returned: Sequence[ReturnedCall],
        odd: Sequence[Objects],
        possible: Callable[[ClientModel], bool],
    ) -> None:
        self._form, self._returned, self._odd, self._possible = form, returned, odd, possible
        self._treatments: dict[tuple[str, str], list[tuple[Invalid, NoObject]]] = {}
        """The possible treatments of invalid arguments, by the received and the returned arguments."""

    def models(self, model: ClientModel, groups: Sequence[Group], most: int) -> Iterator[ClientModel]:
        """Possible models with at most `most` deviations that group the entries as `model` does.

        Of those that keep the same calls with the same arguments, the first.
        """
        tried: set[object] = set()
        kept_by: dict[Kept, Sequence[Group]] = {}
        for put, odd, keeping in product(_arguments(self._form), self._odd, Kept):
            start = replace(model, arguments=put, objects=odd, kept=keeping)
            if _cost(start) > most:
                continue
            calls = kept_by.get(keeping)
            if calls is None:
                calls = kept(groups, self._form, start)
                if keeping is not Kept.VALID:
                    kept_by[keeping] = calls
            if len(calls) != len(self._returned):
                continue
            texts = [arguments_of(one, self._form, model.source, put, odd) for one in calls]
            key = (tuple(texts), *map(id, calls))
            if key not in tried and (found := list(filter(self._possible, self._of(start, calls, texts, most)))):
                tried.add(key)
                yield from found

    def _of(self, start: ClientModel, calls: Sequence[Group], texts: Sequence[str], most: int) -> Iterator[ClientModel]:
        """The models for the first order of the returned calls in which any fits."""
        if not calls:
            yield start
            return
        for order in _orders(calls, self._returned):
            found = [one for one in self._of_order(start, calls, texts, order) if _cost(one) <= most]
            yield from found
            if found:
                return

    def _of_order(
        self, start: ClientModel, calls: Sequence[Group], texts: Sequence[str], returned: Sequence[ReturnedCall]
    ) -> Iterator[ClientModel]:
        """The models of fewest deviations that read each of `calls` as the call of `returned` at its position."""
        pairs = list(zip(calls, returned, strict=True))
        names = [rule for rule in Name if all(identity_of(one, rule) == two.name for one, two in pairs)]
        rules = Id if any(one.item_id for one in calls) else [rule for rule in Id if rule is not Id.ITEM]
        ids = [rule for rule in rules if _ids_fit(rule, pairs)] if names else []
        if not ids:
            return
        # Free text of a custom tool, or an object, is not invalid JSON: a client that must treat it so has another bug.
        free = [text for one, text in zip(calls, texts, strict=True) if _is_custom(one) or has_objects(one, self._form)]
        outcomes = [
            rule
            for rule in self._outcomes(texts, [two.arguments for two in returned])
            if all(kept_arguments(text, *rule) == text for text in free)
        ]
        choices = [
            replace(start, name=name, id=its_id, invalid=invalid, no_object=other)
            for name in ([Name.FIRST] if Name.FIRST in names else names)
            for its_id in ([Id.FIRST] if Id.FIRST in ids else ids)
            for invalid, other in outcomes
        ]
        least = min(map(_cost, choices), default=0)
        yield from (one for one in choices if _cost(one) == least)

    def _outcomes(self, texts: Sequence[str], returned: Sequence[str]) -> list[tuple[Invalid, NoObject]]:
        """The possible treatments of invalid arguments; of those with equal results, the simplest."""
        pairs = list(zip(texts, returned, strict=True))
        rules = [rule for rule in product(Invalid, NoObject) if all(rule in self._rules(*pair) for pair in pairs)]
        found = {tuple(kept_arguments(text, *rule) for text in texts): rule for rule in reversed(rules)}
        return list(reversed(found.values()))

    def _rules(self, text: str, returned: str) -> list[tuple[Invalid, NoObject]]:
        if (text, returned) not in self._treatments:
            fit = [rule for rule in product(Invalid, NoObject) if fits(text, *rule, returned)]
            self._treatments[text, returned] = fit
        return self._treatments[text, returned]


def _is_custom(call: Group) -> bool:
    return any(one.fragment.kind is Kind.CUSTOM for one in call.entries)


def _orders(calls: Sequence[Group], returned: Sequence[ReturnedCall]) -> Iterator[list[ReturnedCall]]:
    """The returned calls in each order that may match `calls`: unchanged, by index, by id."""
    yield list(returned)
    if not 1 < len(calls) <= MAX_REORDERED:
        return
    places = sorted(range(len(calls)), key=lambda at: (calls[at].index or 0, at))
    by_index = [returned[places.index(at)] for at in range(len(calls))]
    if by_index != list(returned):
        yield by_index
    by_id = _by_id(calls, returned)
    if by_id not in (list(returned), by_index):
        yield by_id


def _by_id(calls: Sequence[Group], returned: Sequence[ReturnedCall]) -> list[ReturnedCall]:
    left = list(returned)
    matched: list[ReturnedCall] = []
    for one in calls:
        ids = {entry.fragment.id for entry in one.entries}
        found = next((call for call in left if call.id in ids), left[0])
        left.remove(found)
        matched.append(found)
    return matched


def _ids_fit(rule: Id, pairs: Sequence[tuple[Group, ReturnedCall]]) -> bool:
    """Whether ids fit. A call without an id may get any, and so may all calls if the protocol has no ids."""
    assigned: set[str] = set()
    for group, returned in pairs:
        if returned.id is None:
            continue
        call_id = identity_of(group, rule)
        own = bool(returned.id) and all(returned.id not in (one.fragment.id, group.item_id) for one in group.entries)
        replaced = rule is Id.OWN or (rule is Id.UNIQUE and call_id in assigned)
        if not (own if replaced else call_id in (returned.id, "")):
            return False
        assigned.add(call_id)
    return True
