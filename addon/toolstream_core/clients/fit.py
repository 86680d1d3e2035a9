"""Which client models give what a client sent: the smallest sets of deviations."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.clients.fields import arguments_of, id_of, name_of
from toolstream_core.clients.grouping import grouped
from toolstream_core.clients.model import STANDARD, Arguments, ClientModel, Id, Invalid, Kept, Name, NoObject, Objects
from toolstream_core.clients.outcome import fits, kept_arguments
from toolstream_core.clients.reading import kept
from toolstream_core.clients.space import groupings, objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.clients.entries import Entry
    from toolstream_core.clients.opened import Group
    from toolstream_core.protocols.call_form import CallForm
    from toolstream_core.protocols.requests.conversation import EchoedCall

MAX_DEVIATIONS: Final = 4
MAX_OF_GROUPING: Final = 2
"""Deviations, at most, that concern which entries make a call."""
MANY: Final = 2000
"""From so many entries on, one at most."""


class _Fields(NamedTuple):
    """How the fields of calls are read, and which calls are kept."""

    name: Name
    id: Id
    arguments: Arguments
    objects: Objects
    invalid: Invalid
    no_object: NoObject
    kept: Kept


_STANDARD: Final = _Fields(*(getattr(STANDARD, one) for one in _Fields._fields))


def fitting(form: CallForm, entries: Sequence[Entry], echoed: Sequence[EchoedCall]) -> list[ClientModel]:
    """The models of fewest deviations that make `echoed` of `entries`; none where no small set does."""
    best = MAX_DEVIATIONS
    found: list[ClientModel] = []
    seen: dict[object, int] = {}
    odd = objects(entries)
    for model in groupings(form, entries, 1 if len(entries) > MANY else MAX_OF_GROUPING):
        cost = len(model.deviations)
        if cost > best:
            break
        groups = grouped(model, form, entries)
        partition = (model.source, tuple(tuple(map(id, one.entries)) for one in groups))
        if seen.setdefault(partition, cost) < cost:
            continue
        for read in _Fit(form, model, groups, echoed, odd).fields(best - cost):
            least = cost + _cost(read)
            if least < best:
                best, found = least, []
            if least == best:
                found.append(replace(model, **read._asdict()))
    return found


def gives(model: ClientModel, form: CallForm, entries: Sequence[Entry], echoed: Sequence[EchoedCall]) -> bool:
    """Whether the client of `model` makes `echoed` of `entries`."""
    calls = kept(grouped(model, form, entries), form, model)
    if len(calls) != len(echoed):
        return False
    texts = [arguments_of(one, form, model.source, model.arguments, model.objects) for one in calls]
    return any(
        all(name_of(one, model.name) == two.name for one, two in zip(calls, order, strict=True))
        and _ids_fit(model.id, list(zip(calls, order, strict=True)))
        and all(
            _fits(text, model.invalid, model.no_object, two.arguments) for text, two in zip(texts, order, strict=True)
        )
        for order in _orders(calls, echoed)
    )


def _cost(read: _Fields) -> int:
    return sum(value is not standard for value, standard in zip(read, _STANDARD, strict=True))


class _Fit:
    """How the fields of the calls that a client makes may be read, so that they are what came back."""

    def __init__(
        self,
        form: CallForm,
        model: ClientModel,
        groups: Sequence[Group],
        echoed: Sequence[EchoedCall],
        odd: Sequence[Objects],
    ) -> None:
        """`odd`: what may become of objects."""
        self._form, self._model, self._groups, self._echoed, self._odd = form, model, groups, echoed, odd
        self._tried: set[object] = set()

    def fields(self, most: int) -> Iterator[_Fields]:
        """Those with `most` deviations at most."""
        if len(self._groups) < len(self._echoed) and all(one.index is None for one in self._groups):
            return  # nor does filling places make as many
        for start in sorted(self._starts(), key=_cost):
            if _cost(start) <= most:
                yield from self._of(start, most)

    def _starts(self) -> Iterator[_Fields]:
        for put, odd, keeping in product(Arguments, self._odd, Kept):
            yield _STANDARD._replace(arguments=put, objects=odd, kept=keeping)

    def _of(self, start: _Fields, most: int) -> Iterator[_Fields]:
        model = replace(self._model, arguments=start.arguments, objects=start.objects, kept=start.kept)
        calls = kept(self._groups, self._form, model)
        if len(calls) != len(self._echoed):
            return
        if not calls:
            yield start
            return
        texts = [arguments_of(one, self._form, model.source, start.arguments, start.objects) for one in calls]
        tried = (tuple(texts), *map(id, calls))
        if tried in self._tried:
            return
        self._tried.add(tried)
        for order in _orders(calls, self._echoed):
            found = [one for one in _of_order(start, calls, texts, order) if _cost(one) <= most]
            yield from found
            if found:
                return


def _orders(calls: Sequence[Group], echoed: Sequence[EchoedCall]) -> Iterator[list[EchoedCall]]:
    """The calls that came back in orders in which they may belong to `calls`: as they came, by index, by id."""
    yield list(echoed)
    if len(calls) < 2:  # noqa: PLR2004
        return
    places = sorted(range(len(calls)), key=lambda at: (calls[at].index or 0, at))
    by_index = [echoed[places.index(at)] for at in range(len(calls))]
    if by_index != list(echoed):
        yield by_index
    by_id = _by_id(calls, echoed)
    if by_id not in (list(echoed), by_index):
        yield by_id


def _by_id(calls: Sequence[Group], echoed: Sequence[EchoedCall]) -> list[EchoedCall]:
    left = list(echoed)
    matched: list[EchoedCall] = []
    for one in calls:
        ids = {entry.fragment.id for entry in one.entries}
        found = next((call for call in left if call.id in ids), left[0])
        left.remove(found)
        matched.append(found)
    return matched


def _of_order(
    start: _Fields, calls: Sequence[Group], texts: Sequence[str], echoed: Sequence[EchoedCall]
) -> Iterator[_Fields]:
    """The cheapest ways to read the fields of `calls` so that each is the one of `echoed` in its place."""
    pairs = list(zip(calls, echoed, strict=True))
    names = [rule for rule in Name if all(name_of(one, rule) == two.name for one, two in pairs)]
    ids = [rule for rule in Id if _ids_fit(rule, pairs)] if names else []
    if not ids:
        return
    outcomes = _outcomes(texts, [two.arguments for two in echoed])
    choices = [
        start._replace(name=name, id=its_id, invalid=invalid, no_object=other)
        for name in ([Name.FIRST] if Name.FIRST in names else names)
        for its_id in ([Id.FIRST] if Id.FIRST in ids else ids)
        for invalid, other in outcomes
    ]
    least = min(map(_cost, choices), default=0)
    yield from (one for one in choices if _cost(one) == least)


def _outcomes(texts: Sequence[str], echoed: Sequence[str]) -> list[tuple[Invalid, NoObject]]:
    """What the client may do with arguments that are not valid; of rules that do the same here, the plainest."""
    found: dict[tuple[str, ...], tuple[Invalid, NoObject]] = {}
    for invalid, other in product(Invalid, NoObject):
        if all(_fits(text, invalid, other, said) for text, said in zip(texts, echoed, strict=True)):
            found.setdefault(tuple(kept_arguments(text, invalid, other) for text in texts), (invalid, other))
    return list(found.values())


_fits = lru_cache(4096)(fits)


def _ids_fit(rule: Id, pairs: Sequence[tuple[Group, EchoedCall]]) -> bool:
    """A call without an id gets any; so does one where the protocol has no place for it."""
    taken: set[str] = set()
    for group, echoed in pairs:
        if echoed.id is None:
            continue
        made = id_of(group, rule)
        own = bool(echoed.id) and all(one.fragment.id != echoed.id for one in group.entries)
        replaced = rule is Id.OWN or (rule is Id.UNIQUE and made in taken)
        if not (own if replaced else made in (echoed.id, "")):
            return False
        taken.add(made)
    return True
