"""A client model: a combination of rules for assembling calls from fragments."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, NamedTuple

from toolstream_core.calls import ResolvedFragment
from toolstream_core.model import EventContent, Fragment, Kind, Phase

# The first value of each axis is the protocols' reading. Every other value is a deviation, and its text is the
# deviation's name. `deviations.py` has their descriptions, and where they were seen.


class Key(enum.StrEnum):
    """How the call of an entry is found."""

    PROTOCOL = "protocol-key"
    """By index in deltas; by item in Responses; each entry is a call if entries are complete."""
    CHANGED_ID = "by-changed-id"
    PRESENT_ID = "by-present-id"
    GIVEN_ID = "by-given-id"
    ID = "by-id"
    INDEX_AND_ID = "by-index-and-id"
    LONGER_ID = "by-longer-id"
    NEWEST_OF_INDEX = "id-within-index"
    FIRST_OF_INDEX = "first-of-index"
    ONLY_OF_INDEX = "only-of-index"
    CHANGED_INDEX = "by-changed-index"
    POSITION = "index-as-position"
    PLACE = "by-place"
    ITEM = "by-item-id"
    INDEX_ALONE = "by-index-alone"
    LAST = "last-opened"
    FIRST_OPENED = "first-opened"
    ENTRY = "every-entry"
    ONE = "one-call"


class NoIndex(enum.StrEnum):
    """How the call of an entry without an index is found, if the client keys by index."""

    ZERO = "no-index-zero"
    NEW = "no-index-new-call"
    LAST = "no-index-last-call"
    PLACE = "no-index-place"
    ID = "no-index-by-id"
    DROPPED = "no-index-passed-over"


class Entries(enum.StrEnum):
    """The entries that are read."""

    ALL = "all-entries"
    FIRST = "first-entry-only"
    BEFORE_FINISH = "finish-event-skipped"
    FROM_ID = "opened-by-id"


class Adding(enum.StrEnum):
    """How an entry is added to its call."""

    END = "to-the-end"
    WHOLE = "closed-when-whole"
    HEADER = "header-after-whole"
    NEXT = "next-after-whole"
    FINISH = "until-finish"
    REPLACE = "entry-replaces"
    CONTINUED = "buffer-never-reset"
    OPENED = "closed-by-next"


class Source(enum.StrEnum):
    """The source of identity and arguments."""

    PROTOCOL = "protocol-source"
    """Deltas; a repetition of the complete call, if the protocol has one."""
    MESSAGE = "or-message"
    DELTAS = "deltas-only"
    DONE = "arguments-done-only"
    ITEM = "item-done-only"
    COMPLETED = "completed-only"
    START = "start-only"
    START_AND_DELTAS = "start-and-deltas"


class Name(enum.StrEnum):
    """The name that is used if there are several."""

    FIRST = "first-name"
    LAST = "last-name"
    JOINED = "joined-names"
    OPENING = "opening-name"
    OVERWRITTEN = "overwritten-name"


class Id(enum.StrEnum):
    """The id that is used if there are several."""

    FIRST = "first-id"
    LAST = "last-id"
    JOINED = "joined-ids"
    OPENING = "opening-id"
    OVERWRITTEN = "overwritten-id"
    ITEM = "item-id"
    OWN = "own-id"
    UNIQUE = "repeated-id-replaced"


class Arguments(enum.StrEnum):
    """The argument fragments that are used."""

    JOINED = "joined-arguments"
    FIRST = "first-fragment-only"
    LAST = "last-fragment-only"
    AFTER_OPENING = "opening-arguments-lost"


class Objects(enum.StrEnum):
    """How a client reads arguments that are an object instead of a string, or have another key."""

    JSON = "object-as-json"
    OWN_STRING = "object-as-own-string"
    PASSED_OVER = "odd-arguments-passed-over"


class Invalid(enum.StrEnum):
    """How a client reads arguments that are not valid JSON."""

    RAW = "invalid-kept"
    EMPTY = "invalid-to-empty"
    HEAD = "invalid-to-head"
    COMPLETED = "invalid-completed"
    SHORTENED = "invalid-shortened"
    WRAPPED = "invalid-wrapped"


class NoObject(enum.StrEnum):
    """How a client reads arguments that are JSON, but not an object."""

    KEPT = "string-kept"
    INVALID = "string-as-invalid"


class Kept(enum.StrEnum):
    """The calls that are kept at the end."""

    ALL = "all-calls"
    NAMED = "nameless-dropped"
    WITH_ID = "idless-dropped"
    VALID = "invalid-dropped"
    FIRST = "first-call-only"
    LAST = "last-call-only"
    CLOSED = "open-call-replaced"
    PADDED = "padded-to-index"


type Deviation = Key | NoIndex | Entries | Adding | Source | Name | Id | Arguments | Objects | Invalid | NoObject | Kept
"""A value of one of the axes; the first value of each is not a deviation."""


@dataclass(frozen=True, slots=True)
class ClientModel:
    """Rules for assembling calls from fragments; by default those of the protocols."""

    key: Key = Key.PROTOCOL
    no_index: NoIndex = NoIndex.ZERO
    entries: Entries = Entries.ALL
    adding: Adding = Adding.END
    source: Source = Source.PROTOCOL
    name: Name = Name.FIRST
    id: Id = Id.FIRST
    arguments: Arguments = Arguments.JOINED
    objects: Objects = Objects.JSON
    invalid: Invalid = Invalid.RAW
    no_object: NoObject = NoObject.KEPT
    kept: Kept = Kept.ALL

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """The differences from the protocols' reading, in the order of the axes."""
        return tuple(value for axis in AXES if (value := getattr(self, axis)) is not getattr(STANDARD, axis))

    def with_deviations(self, deviations: Iterable[Deviation]) -> ClientModel:
        changes: dict[str, Any] = {_FIELDS[type(one)]: one for one in deviations}
        return replace(self, **changes)

    def without(self, deviation: Deviation) -> ClientModel:
        """This model with the standard reading on that axis."""
        standard: Deviation = getattr(STANDARD, _FIELDS[type(deviation)])
        return self.with_deviations([standard])


_AXES: Final = (Key, NoIndex, Entries, Adding, Source, Name, Id, Arguments, Objects, Invalid, NoObject, Kept)
AXES: Final[dict[str, tuple[Deviation, ...]]] = {
    one.name: tuple(axis) for one, axis in zip(fields(ClientModel), _AXES, strict=True)
}
"""Each axis of `ClientModel` with its values, the standard one first."""
_FIELDS: Final[dict[type[Deviation], str]] = {type(values[0]): axis for axis, values in AXES.items()}
STANDARD: Final = ClientModel()
"""The protocols' reading."""


def axis_of(deviation: Deviation) -> str:
    """The axis of `ClientModel` that it is a value of."""
    return _FIELDS[type(deviation)]


class ResolvedEvent(NamedTuple):
    """An event as the client received it."""

    number: int
    """Its place among the response's events, from 0."""
    content: EventContent
    resolved: Sequence[ResolvedFragment] = ()
    """Its fragments in the calls that they belong to, as a `Sink` gets them."""


class Entry(NamedTuple):
    """One tool-call entry of one event."""

    event: int
    place: int
    """Its place among the entries of its event."""
    alone: bool
    """Whether it is the only entry of its event."""
    fragment: Fragment
    repeated: bool
    """Whether it is in the final `message` of a stream of deltas, which repeats calls that were streamed."""
    finished: bool
    """Whether an earlier event had the finish reason."""
    with_finish: bool
    """Whether its event has the finish reason, too."""
    at: int
    """Its place among all fragments of its event, those of calls that the provider runs included."""


def entries_of(events: Iterable[ResolvedEvent]) -> list[Entry]:
    """The entries of the calls that the client runs, up to the event that ends the response."""
    found: list[Entry] = []
    finished = False
    for number, content, _ in events:
        ours = [(at, one) for at, one in enumerate(content.fragments) if one.kind is not Kind.SERVER]
        ends = any(one.reason for one in content.finishes)
        found += (
            Entry(number, place, len(ours) == 1, one, one.phase is Phase.WHOLE and not content.end, finished, ends, at)
            for place, (at, one) in enumerate(ours)
        )
        finished = finished or ends
        if content.end:
            break
    return found
