"""The types of a cause, which replaces events of a healthy stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from toolstream_core.calls import OpenCall
from toolstream_core.defects.defect import BLOCK_PROTOCOLS, CHAT, GEMINI, OLLAMA, REALTIME, RESPONSES, Defect
from toolstream_core.model import Json, Kind
from toolstream_core.stages.context import Context
from toolstream_core.stages.inject.codec import EventCodec, Part, What
from toolstream_core.wire.frame import Frame


@dataclass(slots=True)
class At:
    """An event, and the state of its stream."""

    part: Part
    frame: Frame
    protocol: EventCodec
    context: Context
    calls: list[OpenCall]
    """The calls so far, in order."""
    start: Part | None
    """The first event of the call."""
    acted: int
    """The number of events of this call, or of the stream, that the cause has replaced."""
    siblings: Sequence[Part]
    """All parts of the event."""

    @property
    def call(self) -> OpenCall:
        """The call of the event."""
        assert self.part.call is not None
        return self.part.call

    @property
    def first(self) -> OpenCall:
        """The first call of the stream."""
        return self.calls[0] if self.calls else self.call

    def get(self, name: str) -> Json:
        """A field, or `ABSENT`."""
        return self.protocol.get(self.part, name)

    @property
    def text(self) -> str:
        """The fragment of the arguments; `""` if there is none."""
        text = self.get("arguments") if self.part.call is not None else ""
        return text if isinstance(text, str) else ""


type Value = Json | Callable[[At], Json]
"""The new value of a field: a constant, or a function of the event."""
type Test = Callable[[At], bool]


class Again(Enum):
    """An earlier event."""

    START = auto()
    """The first event of the same call."""
    HEAD = auto()
    """The first event of the message."""
    KEPT = auto()
    """The events of the same call that were kept."""


@dataclass(frozen=True, slots=True)
class Emit:
    """An event that is sent."""

    source: Again | What | Callable[[At], Iterable[Any]] | None = None
    """`None`: the event itself. `What`: a new event of this kind. A function returns several events."""
    fields: Mapping[str, Value] = field(default_factory=dict)
    """The fields that differ from the source; `ABSENT` removes a field."""
    late: bool = False
    """Whether it waits for the next event that belongs to no call."""
    keep: bool = False
    """Whether it waits until `kept` sends it."""

    def __call__(self, **fields: Value) -> Emit:
        """The same event with other fields."""
        return Emit(self.source, {**self.fields, **fields}, self.late, self.keep)


@dataclass(frozen=True, slots=True)
class On:
    """A selection of events."""

    kinds: frozenset[What]
    tests: tuple[Test, ...] = ()

    def __or__(self, other: On) -> On:
        """Events of either kind that pass the tests of both."""
        return On(self.kinds | other.kinds, self.tests + other.tests)

    def __and__(self, test: Test) -> On:
        """The events that also pass a test."""
        return On(self.kinds, (*self.tests, test))


@dataclass(frozen=True, slots=True)
class Rule:
    """Replaces the selected events."""

    on: On
    emits: tuple[Emit, ...]
    """Empty: the event is dropped."""
    once: bool = False
    """Whether only the first event is replaced: of each call, or of the stream if the cause acts per stream."""
    ends_stream: bool = False
    """Whether the stream ends at this event."""


class Cause(NamedTuple):
    """Injects a defect into the streams of some protocols. The first rule that selects an event applies."""

    defect: Defect
    protocols: tuple[str, ...]
    rules: tuple[Rule, ...]
    per_stream: bool
    """Whether a fault selects the stream, instead of single calls."""
    kind: Kind
    """The kind of the calls that are changed."""


def on(events: On, *emits: Emit, once: bool = False, ends_stream: bool = False) -> Rule:
    """A rule: sends `emits` in place of the events."""
    return Rule(events, emits, once, ends_stream)


def per_call(defect: Defect, *rules: Rule, of: str | tuple[str, ...] = (), kind: Kind = Kind.FUNCTION) -> Cause:
    """A cause for which a fault selects calls; for all protocols of the defect, if `of` names none."""
    return Cause(defect, _protocols(defect, of), rules, per_stream=False, kind=kind)


def per_stream(defect: Defect, *rules: Rule, of: str | tuple[str, ...] = ()) -> Cause:
    """A cause for which a fault selects streams; `of` as for `per_call`."""
    return Cause(defect, _protocols(defect, of), rules, per_stream=True, kind=Kind.FUNCTION)


def _protocols(defect: Defect, of: str | tuple[str, ...]) -> tuple[str, ...]:
    named = (of,) if isinstance(of, str) else of or defect.protocols
    return tuple(one for one in named if one in defect.protocols)


it: Final = Emit()
"""The event itself."""
start: Final = Emit(Again.START)
head: Final = Emit(Again.HEAD)
keep: Final = Emit(keep=True)
kept: Final = Emit(Again.KEPT)
late: Final = Emit(late=True)
"""The event itself, sent before the next event that belongs to no call."""


def new(what: What, **fields: Value) -> Emit:
    """A new event; it belongs to the call of the event next to it."""
    return Emit(what, fields)


HEAD: Final = On(frozenset({What.HEAD}))
START: Final = On(frozenset({What.START}))
DELTA: Final = On(frozenset({What.DELTA}))
WHOLE: Final = On(frozenset({What.WHOLE}))
STOP: Final = On(frozenset({What.STOP}))
ITEM: Final = On(frozenset({What.ITEM}))
FINISH: Final = On(frozenset({What.FINISH}))
TAIL: Final = On(frozenset({What.TAIL}))
END: Final = On(frozenset({What.END}))
EVENT: Final = On(frozenset({What.EVENT}))
OTHER: Final = On(frozenset({What.OTHER}))
FRAGMENTS: Final = START | DELTA | STOP
"""The events of a call that is streamed."""
EVERY: Final = On(frozenset(What))


BLOCKS: Final = BLOCK_PROTOCOLS
"""Protocols with events that start and stop a call."""
DELTAS: Final = (*BLOCKS, CHAT)
"""Protocols that stream a call as a start and deltas, and send no arguments a second time."""
ITEMS: Final = (REALTIME, RESPONSES)
"""Protocols whose later events repeat the complete arguments."""
COMPLETE: Final = (GEMINI, OLLAMA)
"""Protocols with each call in one event."""

STREAMED_ITEM: Final = START | DELTA | WHOLE | STOP
"""The events of an item."""
OF_ITEM: Final = STREAMED_ITEM | ITEM
CLOSINGS: Final = WHOLE | STOP | ITEM
"""The events that repeat the complete arguments."""
NAMED: Final = START | CLOSINGS
"""The events that may have the name of a call."""
