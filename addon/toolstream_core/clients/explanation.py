"""Explains how a client misread a response: by the model that reproduces its calls, and the first misread event."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial, reduce
from itertools import combinations
from typing import Final, NamedTuple

from toolstream_core.clients.deviations import FOLLOWS_PROTOCOL, QUIRKS, fix, projects
from toolstream_core.clients.fields import GENERATED_IDS, CallValues, kept, kept_arguments
from toolstream_core.clients.fit import KEYS, any_model, matching_models, possible_deviations, reproduces
from toolstream_core.clients.grouping import grouped
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
    NoIndex,
    NoObject,
    ResolvedEvent,
    axis_of,
    entries_of,
)
from toolstream_core.clients.received import Received, ReceivedBytes
from toolstream_core.clients.stepping import Change, Stepper
from toolstream_core.model import ABSENT, Json, Phase, StreamFacts
from toolstream_core.protocols.protocol import CallForm, WireProtocol
from toolstream_core.protocols.registry import OVER_HTTP, named
from toolstream_core.protocols.requests.conversation import ReturnedCall
from toolstream_core.protocols.writing import HealthyCall, HealthyResponse

_BY_ID = frozenset({Key.CHANGED_ID, Key.PRESENT_ID, Key.GIVEN_ID, Key.ID, Key.NEWEST_OF_INDEX, Key.FIRST_OF_INDEX})
_BY_BOTH = frozenset({Key.INDEX_AND_ID, Key.LONGER_ID, Key.ONLY_OF_INDEX})
_BY_INDEX = frozenset({Key.CHANGED_INDEX, Key.INDEX_ALONE})
_GROUPING = ("key", "no_index", "entries", "adding", "source")
_VALUES = (("id",), ("name",), ("arguments", "objects", "source"))
"""The axes that determine id, name and arguments."""
_END = ("invalid", "no_object", "kept", "source")
SHOWN = 24
"""Characters of an id that are shown."""


class Divergence(NamedTuple):
    """The first event that a client reads differently from the protocol."""

    event: int
    seen: str
    """The value that the client used to assign the fragment, as text; `""` unless it is a single value."""
    axes: tuple[str, ...] = ()
    """The axes of `ClientModel` that may cause it; empty if it is in no entry."""
    change: Change | None = None
    """The change to the client's calls, if it assigned the entry to another call than the protocol does."""


def divergence(model: ClientModel, form: CallForm, entries: Sequence[Entry]) -> Divergence | None:
    """The first event that `model` reads differently from the protocol; `None` if there is none."""
    if model == STANDARD or not entries:
        return None
    found = [*_of_groups(model, form, entries), *_of_values(model, form, entries)]
    # Made-up ids and calls show in no entry: they are there from the first one on.
    return min(found, default=Divergence(entries[0].event, ""), key=lambda one: one.event)


def _of_groups(model: ClientModel, form: CallForm, entries: Sequence[Entry]) -> Iterator[Divergence]:
    """The first entry that the client assigns to another call, or to none."""
    usual, theirs = _openers(STANDARD, form, entries), _openers(model, form, entries)
    stepper = Stepper(model, form)
    for entry in entries:
        change = stepper.take(entry)[0]
        if usual.get(id(entry)) != theirs.get(id(entry)):
            yield Divergence(entry.event, _key_of(model, entry), _GROUPING, change)
            return


def _openers(model: ClientModel, form: CallForm, entries: Sequence[Entry]) -> dict[int, int]:
    """The entry that opened the call of each entry, by `id`."""
    return {id(one): id(group.entries[0]) for group in grouped(model, form, entries) for one in group.entries}


def _key_of(model: ClientModel, entry: Entry) -> str:
    """The value of the field that the client uses as key, as text."""
    fragment = entry.fragment
    call_id, index = _shown(fragment.id), _shown(fragment.index)
    by_id = model.adding is Adding.REPLACE or model.entries is Entries.FROM_ID
    if model.key in _BY_ID or (model.key is Key.PROTOCOL and by_id):
        by_item = fragment.id is ABSENT and fragment.item_id is not ABSENT
        return f"item_id {_shown(fragment.item_id)}" if by_item else f"id {call_id}"
    if model.key in _BY_BOTH:
        return f"index {index}, id {call_id}"
    if model.key in _BY_INDEX or (model.key is Key.PROTOCOL and model.no_index is not NoIndex.ZERO):
        return f"index {index}"
    return f"item_id {_shown(fragment.item_id)}" if model.key is Key.ITEM else ""


def _shown(value: Json) -> str:
    if value is ABSENT:
        return "absent"
    if not isinstance(value, str):
        return "null" if value is None else str(value)
    short = value if len(value) <= SHOWN else f"{value[: SHOWN // 2]}…{value[-SHOWN // 2 + 1 :]}"
    return f'"{short}"'


def _of_values(model: ClientModel, form: CallForm, entries: Sequence[Entry]) -> Iterator[Divergence]:
    """The first entry of each call from which on its id, name or arguments differ up to the end."""
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
                yield Divergence(entry_since.event, "", axes)
        text = theirs.arguments.text()
        if id(group) in left or kept_arguments(text, model.invalid, model.no_object) != text:
            yield Divergence(group.entries[-1].event, "", _END)


_MODELS: Final = 4096
"""Models for which it is remembered whether they understand a healthy response."""
MAX_CLIENTS: Final = 256
"""Number of remembered clients; then the least recent one is forgotten."""
_ORDER: Final = {value: place for values in AXES.values() for place, value in enumerate(values)}


@dataclass(frozen=True, slots=True)
class Explanation:
    """A client model that reads the received events of a response as the returned calls."""

    model: ClientModel
    event: int | None = None
    """The event where its reading first differs from the protocol's; `None` if it never does."""
    seen: str = ""
    """The value that the client used in that event to assign the fragment; `""` unless it is a single value."""
    others: tuple[ClientModel, ...] = ()
    """The other models with the same number of deviations that do, too."""
    common: tuple[ClientModel, ...] = ()
    """Models of common clients with more deviations that do, too: advice has to help them."""
    wrong: tuple[Deviation, ...] | None = None
    """The deviations that a fix of the client must remove (`_wrong`); `None` if unknown: all of them."""
    shows: Deviation | None = None
    """The deviation that causes the difference in that event."""
    change: Change | None = None
    """The change to the client's calls in that event, if the client assigned it differently from the protocol."""
    choice: int = 0
    """The choice that the client used."""
    protocol: WireProtocol | None = None
    doubtful: bool = False
    """Whether the client may have read a call as one of another kind (`Fragment.doubtful`)."""
    separate: bool = False
    """Whether it only keeps complete entries separate, as the protocol does: not a bug, although a call is split."""
    understood: bool = False
    """Whether the client read the intended calls: its bug is not in reading the stream."""

    @property
    def bugs(self) -> tuple[Deviation, ...]:
        """The deviations that are bugs; none if the client follows the protocol and the stream is malformed."""
        return () if self.separate else self.model.deviations

    @property
    def names(self) -> list[str]:
        """The names of the bugs."""
        return [one.value for one in self.bugs]

    @property
    def projects(self) -> dict[str, str]:
        """The projects in which the bugs were seen, with links."""
        return projects(self.bugs)

    @property
    def fix(self) -> str:
        """What to change in the client, or in the stream."""
        return fix(self.model.deviations if self.wrong is None else self.wrong, self.protocol)

    @property
    def text(self) -> str:
        """What the client does: a predicate with the client as subject."""
        return ", and ".join(QUIRKS[one].words for one in self.bugs) or FOLLOWS_PROTOCOL

    @property
    def where(self) -> str:
        """The first event that it misreads."""
        if self.event is None or self.separate:
            return ""
        return f"first misreads event {self.event}{f': {self.seen}' if self.seen else ''}"


class Explainer:
    """Explains the returned calls of clients, in view of their earlier explanations."""

    def __init__(self, understood: int = 0) -> None:
        """`understood`: the number of calls of healthy responses that all clients are known to understand."""
        self._understood = understood
        self._known: OrderedDict[str, ClientModel] = OrderedDict()

    def explain(
        self,
        form: CallForm,
        events: Iterable[ResolvedEvent],
        returned: Sequence[ReturnedCall],
        client: str = "",
        possible: Callable[[ClientModel], bool] = any_model,
    ) -> Explanation | None:
        """The model of fewest deviations that reads `events` as the calls `returned`; `None` if no small set does.

        `events` are those of one response as the client got them; those without calls, finish or end may be left out.
        `returned` are the new calls of its next request: none if it lost them all. `client` distinguishes clients (by
        address, or user agent); `""` is an unknown one. `possible`: which models may explain it.
        """
        known = self.known(client)
        found = (
            (entries, _matching_models(form, entries, returned, known, possible))
            for entries in _alternatives(entries_of(events))
        )
        fit = [(entries, models) for entries, models in found if models]
        if not fit:
            return None
        entries, models = min(fit, key=lambda one: len(one[1][0].deviations))
        model = min(models, key=lambda one: _unlikely(one, known))
        doubtful = bool(model.deviations) and any(one.fragment.doubtful for one in entries)
        if client and not doubtful:
            self._remember(client, model)
        common = tuple(filter(possible, _common(form, entries, returned))) if model.deviations else ()
        model, *rest = dict.fromkeys(map(_without_own_ids, (model, *models)))
        others = tuple(one for one in rest if one.deviations)
        found_too = tuple(one for one in common if one not in (model, *others))
        choice = entries[0].fragment.choice if entries else 0
        diverged = divergence(model, form, entries)
        if diverged is None:
            return Explanation(model, others=others, common=found_too, choice=choice)
        shows = next((one for one in model.deviations if axis_of(one) in diverged.axes), model.deviations[0])
        wrong = Explanation(
            model, diverged.event, diverged.seen, others, found_too, shows=shows, change=diverged.change
        )
        complete = form is CallForm.WHOLE and all(one.fragment.phase is Phase.CLOSE for one in entries)
        separate = complete and any(one.deviations == (Key.ENTRY,) for one in models)
        return replace(wrong, choice=choice, doubtful=doubtful, separate=separate)

    def explain_response(
        self, response: ReceivedBytes, returned: Sequence[ReturnedCall], client: str = ""
    ) -> Explanation | None:
        """As `explain`, for the bytes of a response; also `None` if they are not an LLM's.

        A malformed response is explained only by clients that may have understood earlier ones, and every response by
        clients that understand what the client is known to understand.
        """
        got = Received(response)
        if got.protocol is None or got.record is None:
            return None
        malformed = any(one.severity.counts for one in got.record.findings)
        restricted = malformed or self._understood
        possible = partial(_understands_healthy, got.protocol.name, self._understood) if restricted else any_model
        found = self.explain(got.protocol.call_form, got.events, returned, client, possible)
        if found is None:
            return None
        got.choice = found.choice
        understood = found.model == STANDARD and got.is_understood(STANDARD, got.intended)
        return replace(found, protocol=got.protocol, wrong=_wrong(found.model, got), understood=understood)

    def known(self, client: str) -> ClientModel:
        """All deviations that have explained a client's requests so far."""
        return self._known.get(client, STANDARD)

    def _remember(self, client: str, model: ClientModel) -> None:
        """Add a model's deviations to those known of a client; the new one replaces another on the same axis."""
        known = self._known.pop(client, STANDARD)
        self._known[client] = known.with_deviations(model.deviations)
        if len(self._known) > MAX_CLIENTS:
            self._known.popitem(last=False)


@cache
def _healthy(protocol: str, calls: int) -> Received:
    """A healthy response with that many calls."""
    healthy_calls = tuple(HealthyCall(f"f{number}", f'{{"x": "a b", "y": {number}}}') for number in range(calls))
    body = b"".join(named(protocol).healthy_stream(HealthyResponse(model="m", request={}, calls=healthy_calls)))
    return Received(ReceivedBytes(StreamFacts(), body))


def protocol_with(deviation: Deviation) -> WireProtocol:
    """The first protocol whose healthy responses show that a client can have the bug; by default Chat Completions."""
    have = (one for one in OVER_HTTP if deviation in possible_deviations(one.call_form, _healthy(one.name, 2).entries))
    return next(have, OVER_HTTP[0])


@lru_cache(_MODELS)
def _understands_healthy(protocol: str, calls: int, model: ClientModel) -> bool:
    """Whether the client of `model` understands healthy responses; `calls`: the number of calls that it did understand.

    Providers of Chat Completions differ in what continues a call, so a client with another key may fit its provider.
    """
    if not calls and named(protocol).call_form is CallForm.DELTAS and model.arguments is Arguments.JOINED:
        return True
    healthy = _healthy(protocol, calls or 1)
    return healthy.is_understood(model, healthy.intended)


def _matching_models(
    form: CallForm,
    entries: Sequence[Entry],
    returned: Sequence[ReturnedCall],
    known: ClientModel,
    possible: Callable[[ClientModel], bool],
) -> list[ClientModel]:
    """The models that return the calls of the request; only the known model, if it is one of them."""
    if known is not STANDARD and reproduces(known, form, entries, returned):
        return [_needed(known, form, entries, returned)]
    return matching_models(form, entries, returned, possible)


def _common(form: CallForm, entries: Sequence[Entry], returned: Sequence[ReturnedCall]) -> Iterator[ClientModel]:
    """Clients with a known key, with or without calls that lack a name, that return the calls of the request."""
    models = (STANDARD.with_deviations([key, kept]) for key in KEYS[form] for kept in (Kept.ALL, Kept.NAMED))
    return (one for one in models if reproduces(one, form, entries, returned))


def _alternatives(entries: Sequence[Entry]) -> list[list[Entry]]:
    """The entries of each choice, of which a client uses one."""
    choices = dict.fromkeys(one.fragment.choice for one in entries) or {0: None}
    return [[one for one in entries if one.fragment.choice == choice] for choice in choices]


def _needed(
    model: ClientModel, form: CallForm, entries: Sequence[Entry], returned: Sequence[ReturnedCall]
) -> ClientModel:
    """The model without the deviations that this response does not need."""
    for one in model.deviations:
        without = model.without(one)
        if reproduces(without, form, entries, returned):
            model = without
    return model


def _without_own_ids(model: ClientModel) -> ClientModel:
    """The model without ids that tell calls apart, but are not those of the stream: a client may use such ids."""
    return model.without(model.id) if model.id in {*GENERATED_IDS, Id.ITEM} else model


_REFUSALS: Final = frozenset({*Invalid, *NoObject, Kept.NAMED, Kept.WITH_ID, Kept.VALID})
"""Deviations in how a client handles unreadable calls: for any stream, a fix makes it report them."""


def _wrong(model: ClientModel, got: Received) -> tuple[Deviation, ...]:
    """The fewest deviations without which the client would read the intended calls, or all calls as they were sent.

    If there are none, the stream misleads every client, and only the handling of unreadable calls can be fixed.
    """
    every = model.deviations
    for calls in (got.intended, got.calls):
        for count in range(1, len(every) + 1):
            for some in combinations(every, count):
                if got.is_understood(reduce(ClientModel.without, some, model), calls):
                    return some
    return tuple(one for one in every if one in _REFUSALS)


_BLUNT: Final[Mapping[Deviation, int]] = {
    **dict.fromkeys((Key.ENTRY, Key.ONE, Entries.FROM_ID, *Kept), 1),
    **dict.fromkeys(Arguments, 2),
}
"""Deviations that leave so little of a call that they explain nearly any result."""


def _unlikely(model: ClientModel, known: ClientModel) -> tuple[int, int, int, int, list[int]]:
    """Sort key, the likeliest first: the client's earlier deviations, those of one project, frequent ones, order."""
    deviations = model.deviations
    new = sum(one not in known.deviations for one in deviations)
    seen = [name for one in deviations for name in QUIRKS[one].projects]
    together = max(map(seen.count, seen), default=0)
    blunt = sum(_BLUNT.get(one, 0) for one in deviations)
    return new, blunt, -together, -len(seen), [_ORDER[one] for one in deviations]
