"""A response read entry by entry, by a client model or as intended: the changes, and the calls at the end."""

from __future__ import annotations

import enum
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from toolstream_core.calls import OpenCall
from toolstream_core.calls.json_text import paired
from toolstream_core.calls.open_call import nonblank
from toolstream_core.clients.deviations import QUIRKS
from toolstream_core.clients.fields import GENERATED_IDS, CallValues, Edit, is_valid, kept, kept_arguments, readable
from toolstream_core.clients.grouping import Grouping
from toolstream_core.clients.model import ClientModel, Entry, Kept, ResolvedEvent
from toolstream_core.model import Call, Fragment
from toolstream_core.protocols.protocol import CallForm

_UNREAD: Final = "does not read the events that contain the call"


class What(enum.StrEnum):
    """The effect of an entry on a client's calls."""

    OPENED = "opened"
    """The client opens a call; `id`, `name` and `arguments` are its first values."""
    REPLACED = "replaced"
    """The new values replace those of the call."""
    APPENDED = "appended"
    """The new values are appended to those of the call; without new values, the entry changes nothing."""
    SKIPPED = "skipped"
    """The client skips the entry."""


class Change(NamedTuple):
    """A change of a client's calls."""

    event: int
    """The number of the event."""
    fragment: int
    """The place of the fragment in the event's content."""
    place: int | None
    """The place of the call among the client's calls, in the order in which they were opened; `None`: skipped."""
    what: What
    id: str | None = None
    name: str | None = None
    arguments: str | None = None


class SteppedCall(NamedTuple):
    """A call that a client has at the end of a response."""

    id: str
    """`""` if it has none, or if the client generates it."""
    name: str
    arguments: str
    """The client's final arguments: completed, emptied or wrapped."""
    place: int | None = None
    """As in `Change`; `None`: the client made the call up."""
    valid: bool = True
    """Whether the arguments are valid JSON, or empty."""
    dropped: str = ""
    """Why the client drops the call; `""`: it keeps it."""


class Trace(NamedTuple):
    """How some client models read a response."""

    models: tuple[ClientModel, ...]
    """The models with this reading."""
    changes: tuple[tuple[Change, ...], ...]
    """By entry."""
    calls: tuple[SteppedCall, ...]
    """As `Stepper.calls`, at the end."""


class Stepper:
    """Reads a response as the client of a model does, entry by entry. The cost is linear."""

    def __init__(self, model: ClientModel, form: CallForm, choice: int | None = None) -> None:
        """`choice`: the only one that the client reads; by default that of the first entry."""
        self._model, self._form = model, form
        self._grouping = Grouping(model, form, choice)
        self._values: list[CallValues] = []
        """By place of the call."""

    def take(self, entry: Entry) -> tuple[Change, ...]:
        group = self._grouping.take(entry)
        if group is None:
            return (Change(entry.event, entry.at, None, What.SKIPPED),)
        opened, renewed = group.place == len(self._values), len(group.entries) == 1
        if opened:
            self._values.append(CallValues(self._model, self._form, group.before))
        elif renewed:
            self._values[group.place] = CallValues(self._model, self._form)
        values = self._values[group.place]
        edits = values.take(group, entry)
        if opened or renewed:
            what = What.OPENED if opened else What.REPLACED
            now = (self._id(values), values.name.text(), values.arguments.text())
            return (Change(entry.event, entry.at, group.place, what, *now),)
        return tuple(_changes(entry, group.place, (None, *edits[1:]) if self._model.id in GENERATED_IDS else edits))

    def calls(self) -> list[SteppedCall]:
        """The client's calls if the response ends here: those that it keeps, in its order, then the others."""
        model, groups = self._model, self._grouping.groups
        keeps = kept(groups, self._form, model)
        made_up = SteppedCall("", "", "")
        read = [self._call(one.place) if one.entries else made_up for one in keeps]
        left = {one.place for one in keeps if one.entries}
        known = {one.place for one in groups if readable(one, model.source)}
        words = {True: QUIRKS[model.kept].words if model.kept is not Kept.ALL else "", False: _UNREAD}
        dropped = (one.place for one in groups if one.place not in left)
        return [*read, *(self._call(one)._replace(dropped=words[one in known]) for one in dropped)]

    def _id(self, values: CallValues) -> str:
        return "" if self._model.id in GENERATED_IDS else values.id.text()

    def _call(self, place: int) -> SteppedCall:
        values = self._values[place]
        used = kept_arguments(values.arguments.text(), self._model.invalid, self._model.no_object)
        return SteppedCall(self._id(values), values.name.text(), used, place, is_valid(used))


def reads(model: ClientModel, form: CallForm, entries: Iterable[Entry], choice: int | None = None) -> list[SteppedCall]:
    """The calls that the client of `model` has at the end of a response; `choice` as in `Stepper`."""
    stepper = Stepper(model, form, choice)
    for one in entries:
        stepper.take(one)
    return [one for one in stepper.calls() if not one.dropped]


def traces(models: Iterable[ClientModel], form: CallForm, entries: Sequence[Entry]) -> list[Trace]:
    """How each of `models` reads a response, in the order of the first model of each trace."""
    alike: dict[tuple[tuple[tuple[Change, ...], ...], tuple[SteppedCall, ...]], list[ClientModel]] = {}
    for model in dict.fromkeys(models):
        stepper = Stepper(model, form)
        changes = tuple(map(stepper.take, entries))
        alike.setdefault((changes, tuple(stepper.calls())), []).append(model)
    return [Trace(tuple(group), *read) for read, group in alike.items()]


def _changes(entry: Entry, place: int, edits: Sequence[Edit | None]) -> Iterator[Change]:
    for what, appended in ((What.REPLACED, False), (What.APPENDED, True)):
        texts = [one.text if one is not None and one.appended is appended else None for one in edits]
        if any(one is not None for one in texts) or (appended and not any(edits)):
            yield Change(entry.event, entry.at, place, what, *texts)


_CUT: Final = r"\\(?:u[0-9a-fA-F]{0,3})?"
_CUT_ESCAPE: Final = re.compile(rf"(?<!\\)(?:\\\\)*({_CUT}|\\u[dD][89abAB][0-9a-fA-F]{{2}}(?:{_CUT})?)\Z")
"""An escape that is cut off, or the first code unit of a surrogate pair, at the end of a part of a JSON string."""
_HIGH_SURROGATES: Final = ("\ud800", "\udbff")


def intended(calls: Sequence[Call], events: Sequence[ResolvedEvent]) -> Iterator[Change]:
    """What each fragment adds to `calls`, the record's; a change's `place` is the call's place among them."""
    places = reported_places(calls, events)
    left = Counter(places[id(one.call)] for event in events for one in event.resolved)
    growing: dict[int, _Growing] = {}
    for event in events:
        found = {id(one.fragment): places[id(one.call)] for one in event.resolved}
        for at, fragment in enumerate(event.content.fragments):
            place = found.get(id(fragment))
            if place is None:
                yield Change(event.number, at, None, What.SKIPPED)
                continue
            left[place] -= 1
            what = What.APPENDED if place in growing else What.OPENED
            grown = growing.setdefault(place, _Growing(calls[place])).take(fragment, last=not left[place])
            values = grown if what is What.OPENED else [one or None for one in grown]
            yield Change(event.number, at, place, what, *values)


def reported_places(calls: Sequence[Call], events: Sequence[ResolvedEvent]) -> dict[int, int | None]:
    """By the identity of the resolver's call, its place among those reported; `None` for one that is not reported."""
    by_runs = {id(call.events): place for place, call in enumerate(calls)}
    opened = {id(one.call): one.call for event in events for one in event.resolved}
    return {
        key: by_runs[id(call.runs)] if id(call.runs) in by_runs else _merged(calls, call)
        for key, call in opened.items()
    }


def _merged(calls: Sequence[Call], repeated: OpenCall) -> int | None:
    """The place of the call that a repeated one was merged into."""
    first = next(iter(repeated.runs), -1)
    return next(
        (
            place
            for place, call in enumerate(calls)
            if (call.choice, call.id) == (repeated.choice, repeated.id)
            and any(first in numbers for numbers in call.events.ranges())
        ),
        None,
    )


class _Growing:
    """A call of a stream whose final state is known, fragment by fragment."""

    def __init__(self, call: Call) -> None:
        self._id, self._name, self._arguments = _Text(call.id), _Text(call.name), _Text(call.arguments)

    def take(self, fragment: Fragment, *, last: bool) -> list[str]:
        """Add a fragment to id, name and arguments; the last one adds the remaining text."""
        arguments = fragment.arguments if isinstance(fragment.arguments, str) else ""
        given = (nonblank(fragment.id), nonblank(fragment.name), arguments)
        texts = (self._id, self._name, self._arguments)
        return [one.take(text) + (one.rest() if last else "") for one, text in zip(texts, given, strict=True)]


class _Text:
    """A text whose final state is known, fragment by fragment."""

    def __init__(self, final: str) -> None:
        self._final, self._size = final, 0
        self._held = ""
        """The beginning of a character that is not complete."""
        self._encoded: bool | None = None
        """Whether the fragments are a JSON string that holds the text; `None`: no fragment has arrived."""

    def take(self, text: str) -> str:
        if text and self._encoded is None:
            self._encoded = text.startswith('"') and not self._final.startswith('"')
            text = text.removeprefix('"') if self._encoded else text
        text = self._complete(text)
        end = self._size
        if self._final.startswith(text, end):
            end += len(text)
        elif self._final.startswith(text):
            end = max(end, len(text))
        return self._up_to(end)

    def rest(self) -> str:
        return self._up_to(len(self._final))

    def _up_to(self, end: int) -> str:
        added, self._size = self._final[self._size : end], end
        return added

    def _complete(self, text: str) -> str:
        """The fragment decoded, without the beginning of a character at its end."""
        text, self._held = self._held + text, ""
        if self._encoded:
            cut = _CUT_ESCAPE.search(text)
            text, self._held = (text[: cut.start(1)], cut.group(1)) if cut else (text, "")
            text = _decoded(text)
        elif _HIGH_SURROGATES[0] <= text[-1:] <= _HIGH_SURROGATES[1]:
            text, self._held = text[:-1], text[-1]
        return paired(text)


def _decoded(text: str) -> str:
    """The meaning of a part of a JSON string, perhaps with the quote that closes it."""
    for part in (text, text.removesuffix('"')):
        try:
            decoded: str = json.loads(f'"{part}"', strict=False)
        except ValueError:
            continue
        return decoded
    return ""
