"""The table of events of a protocol with content blocks, for repair, faults and shapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from toolstream_core.defects.defect import Defect
from toolstream_core.model import ABSENT, Json, Severity
from toolstream_core.repair.fields import TOP, Fields, Path, always, overlaid
from toolstream_core.repair.finish import FinishWords
from toolstream_core.repair.identity import USUAL_ID
from toolstream_core.stages.context import Promotion
from toolstream_core.stages.inject.codec import What
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_paths import unknown_only
from toolstream_core.wire.json_value import Payload
from toolstream_core.wire.write import Writer


class BlockEvent(NamedTuple):
    """One event of a message."""

    what: What
    kind: str
    """The event's type in the protocol."""
    body: Payload
    """The object that has the event's fields."""


UNKNOWN_EVENT: Final = BlockEvent(What.OTHER, "", {})
"""An event that is not of the protocol."""
INDEX: Final = "index"
ID: Final = "id"
NAME: Final = "name"
TYPE: Final = "type"
"""The type of a call or block."""
DELTA_TYPE: Final = "delta_type"
"""The type of a delta."""
ARGUMENTS: Final = "arguments"
CALLER: Final = "caller"
"""Of a start: what makes the call, `direct` for the model. Calls of a program come complete."""
REASON: Final = "reason"
USAGE: Final = "usage"


class Make(Protocol):
    """Writes a new event at event `number`; `line`: with an event line, or a key with its type (`keyed`)."""

    def __call__(self, writer: Writer, what: What, body: Payload, number: int, *, line: bool) -> Frame:
        """The new frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDefects:
    """The defects of an index."""

    missing: Defect
    odd: Defect
    offset: Defect | None
    """`None` if an index may be any number."""
    changing: Defect


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockProtocol:
    """The events of one protocol, and the JSON paths of their fields."""

    kinds: Mapping[str, What]
    """The types of events."""
    read: Callable[[Frame], BlockEvent | None]
    make: Make
    wrapped: Callable[[Frame, Payload], Payload] | None = None
    """The payload of a frame with another body; `None` if the body is the payload."""
    keyed: Callable[[Frame], bool] = lambda frame: bool(frame.name)
    """Whether an event has an event line, or a key with its type."""
    paths: Mapping[What, Mapping[str, Path]]
    """The fields of each event. Faults use a key of the event for a field that is not listed."""
    start: Mapping[str, Json]
    """Fields of every start: the value in place of arguments that come in deltas, and the type."""
    new: Mapping[What, Payload]
    """New events, to be filled in."""
    begin: Callable[[str, Json], Payload] | None = None
    """The event that begins a message, by its id and the requested model; `None` if a message may begin without one."""
    text_block: Callable[[Json, str], Iterable[tuple[What, Payload]]]
    """The events of a text block at an index."""
    usage: Mapping[What, Json]
    """The usage of an event that lacks it."""
    words: FinishWords
    """The finish reasons."""
    index_defects: IndexDefects
    counted: bool = True
    """Whether indexes count from 0 upwards by one."""
    implicit: bool = False
    """Whether text comes at indexes that no event starts."""
    calls_apart: bool = False
    """Whether the indexes of calls do not count other blocks."""
    late_identity: bool = False
    """Whether deltas may have an id and a name."""
    other_deltas: Mapping[str, Collection[str]] = field(default_factory=dict)
    """By the type of a block: types of deltas that belong to other blocks."""
    event_lines: frozenset[str] = frozenset()
    """The events that have an event line of their name."""
    lines_by_first: bool = False
    """Whether events need an event line only if the stream's first event has one."""
    end_severity: Severity | None = None
    wrong_finish_severity: Severity | None = None
    repeated_finish: Defect | None = None
    """The defect of a second finish; `None` if it is valid."""
    after_end: Defect | None = None
    """The defect of an event after the end; `None` if it is forwarded."""
    unused_index: int = 1 << 16
    """The first index that no block of a response has."""
    usual_id: re.Pattern[str] = USUAL_ID
    split: Callable[[BlockEvent], tuple[Defect | None, list[BlockEvent]]] | None = None
    """Splits an event with several blocks into an event for each; with the defect of such an event."""
    bare: frozenset[str] = frozenset()
    """The keys of an event that only ends something."""

    def get(self, event: BlockEvent, name: str) -> Json:
        """A field of an event, or `ABSENT`."""
        path = self.paths.get(event.what, {}).get(name)
        return ABSENT if path is None else json_access.get(event.body, *path)

    def has(self, event: BlockEvent, name: str) -> bool:
        """Whether events of this kind can have the field."""
        return name in self.paths.get(event.what, {})

    def rest_of_call(self, event: BlockEvent) -> Json:
        """The unknown keys of the complete call in a stop, or `ABSENT`."""
        call, known = self.get(event, "whole"), {key for path in self.paths[What.STOP].values() for key in path}
        return (unknown_only(call, known) if isinstance(call, dict) else None) or ABSENT

    def laid(self, event: BlockEvent, fields: Fields) -> Payload:
        """The body of an event with other fields; the same object if it has them."""
        return overlaid(event.body, fields, always, self.paths.get(event.what, TOP))

    def rewrite(self, writer: Writer, frame: Frame, event: BlockEvent, body: Payload, *, line: bool = False) -> Frame:
        """The frame with another body; `line`: adds the event line."""
        payload = {**body} if self.wrapped is None else self.wrapped(frame, body)
        return writer.rewrite(frame, payload, event.kind if line else None)

    @property
    def delta_keys(self) -> frozenset[str]:
        """The keys of a delta with arguments, at any depth."""
        return frozenset({*_keys(self.new[What.DELTA]), *self.bare, *self.kinds})

    def filled(self, what: What, **fields: Json) -> Payload:
        """The body of a new event."""
        return overlaid(self.new[what], fields, always, self.paths[what])

    def promoted(self, promotion: Promotion) -> list[Frame]:
        """As `WireProtocol.promoted`."""
        frame, writer = promotion.event.frame, promotion.writer
        out: list[Frame] = []
        event, line = self.read(frame), self.wrapped is None or self.keyed(frame)
        first = promotion.before if self.calls_apart else promotion.place
        for index, (identity, wanted) in enumerate(promotion.calls, first):
            fields: dict[What, Fields] = {
                What.START: {ID: identity, NAME: wanted.name},
                What.DELTA: {ARGUMENTS: wanted.arguments},
                What.STOP: {},
            }
            bodies = [(what, self.filled(what, **{INDEX: index, **own})) for what, own in fields.items()]
            out += [self.make(writer, what, body, frame.number, line=line) for what, body in bodies]
        if event is None or self.get(event, REASON) != self.words.complete:
            return [*out, frame]
        return [*out, self.rewrite(writer, frame, event, self.laid(event, {REASON: self.words.called}))]


def by_type(
    kinds: Mapping[str, What], key: str = "type", end: tuple[bytes, str] | None = None
) -> Callable[[Frame], BlockEvent | None]:
    """A `read` for objects with their type under `key`, or in the event line; `end`: the last data, and its type."""

    def read(frame: Frame) -> BlockEvent | None:
        if end is not None and frame.data is not None and frame.data.strip() == end[0]:
            return BlockEvent(What.END, end[1], {})
        body = frame.json
        if not isinstance(body, dict):
            return None
        named = body.get(key, frame.name)
        kind = named if isinstance(named, str) else ""
        return BlockEvent(kinds.get(kind, What.OTHER), kind, body)

    return read


def _keys(body: Payload) -> Iterator[str]:
    """The keys of an object at any depth."""
    for key, value in body.items():
        yield key
        if isinstance(value, dict):
            yield from _keys(value)


def number_of(index: Json) -> int | None:
    """An index that is spelled as a number or as a string; `None` for anything else."""
    number = index if type(index) is int else json_access.integer(index)
    return number if isinstance(number, int) else None
