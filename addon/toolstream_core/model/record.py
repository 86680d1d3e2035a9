"""The record of a response: its calls, findings and changes, and the numbers of its events."""

from __future__ import annotations

import enum
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final, NamedTuple

from toolstream_core.model.events import Kind
from toolstream_core.wire.frame import Frame, joined
from toolstream_core.wire.json_value import ABSENT, Json


class Runs:
    """Rising event numbers, kept as runs: a call of a million deltas costs a few bytes."""

    __slots__ = ("_bounds",)

    def __init__(self) -> None:
        self._bounds = array("q")

    def add(self, number: int) -> None:
        """Append `number`; the one added last may be added again."""
        bounds = self._bounds
        if bounds and bounds[-1] == number:
            bounds[-1] = number + 1
        elif not bounds or bounds[-1] <= number:
            bounds.extend((number, number + 1))

    def extend(self, first: int, count: int) -> None:
        """Append `count` numbers from `first` on."""
        self.add(first)
        self._bounds[-1] = first + count

    def more_than(self, count: int) -> bool:
        """Whether there are more numbers than `count`."""
        return next(islice(self, count, None), None) is not None

    @property
    def last(self) -> int:
        """The one added last, -1 before any."""
        return self._bounds[-1] - 1 if self._bounds else -1

    def __iter__(self) -> Iterator[int]:
        """Each number once, rising."""
        return chain.from_iterable(self.ranges())

    def ranges(self) -> Iterator[range]:
        """The runs, rising."""
        bounds = self._bounds
        for at in range(0, len(bounds), 2):
            yield range(bounds[at], bounds[at + 1])

    def __len__(self) -> int:
        """The number of numbers."""
        return sum(self._bounds[1::2]) - sum(self._bounds[::2])


@dataclass(slots=True)
class Call:
    """One resolved call: the meaning of all its fragments."""

    choice: int
    position: int
    """Its place among the calls of its choice, in the order in which they appeared."""
    kind: Kind = Kind.FUNCTION
    id: str = ""
    name: str = ""
    arguments: str = ""
    complete: bool = False
    """Whether it is complete: an event ended it, or its arguments are a complete JSON object."""
    guessed: bool = False
    """Whether a boundary rests on a guess; no repair may act on this call then."""
    events: Runs = field(default_factory=Runs)
    truncated: bool = False
    """Whether its arguments were too long to keep: only their begin is here."""
    signed: bool = False
    """Whether it has a signature that the next request must have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFacts:
    """The facts of a stream, apart from its bytes."""

    source: str = ""
    """Its source: `flows/glm-5.flow#0`, `-`, or the flow's id."""
    host: str = ""
    path: str = ""
    """Request path with query; decides the order in which protocols are tried."""
    content_type: str = ""
    content_encoding: str = ""
    status: int = 200
    request: Json = ABSENT
    """The request's JSON body: model, tools, stream_options."""


class Chunk(NamedTuple):
    """A decoded chunk of a body, with its time."""

    after: int
    """Milliseconds since the first byte."""
    data: bytes


BAD_STATUS: Final = 400
"""From this HTTP status on, a response is an error."""


class Severity(enum.StrEnum):
    """The severity of a finding. Only errors and warnings affect exit codes."""

    ERROR = "error"
    """No correct reader can get the calls right from this."""
    WARNING = "warning"
    """The protocol does not allow it; a careful reader has to guess."""
    NOTE = "note"
    """Valid or tolerated, but known to break clients."""

    @property
    def counts(self) -> bool:
        """Whether it sets the exit code."""
        return self is not Severity.NOTE


class Finding(NamedTuple):
    """A defect at an event of a stream."""

    code: str
    name: str
    severity: Severity
    event: int
    call: int | None
    message: str
    repair: str | None = None


class Change(NamedTuple):
    """Replaced events, and the bytes that were sent instead."""

    names: tuple[str, ...]
    """Names of the repaired defects, of the shape, or of the fault."""
    event: int
    """The number under which it is reported: that of the first event that was replaced, else of the first one sent."""
    old: Sequence[Frame]
    new: Sequence[Frame]
    kind: str = "repair"
    """`repair`, `shape` or `fault`."""

    @property
    def before(self) -> bytes:
        """The events that were replaced; `b""` if events were only added."""
        return joined(self.old)

    @property
    def after(self) -> bytes:
        """The bytes that were sent instead; `b""` if none were."""
        return joined(self.new)

    @property
    def replaced(self) -> list[int]:
        """The numbers of the events that were replaced. Comments and blank frames have none."""
        return [frame.number for frame in self.old if frame.data is not None]

    @property
    def sent(self) -> list[int]:
        """For each event that was sent instead, the number of the event that it replaces."""
        return [frame.number for frame in self.new if frame.data is not None]


class Note(NamedTuple):
    """A change to a response apart from its events, or one that was not possible."""

    name: str
    """The name of the defect or shape, or of the removed text."""
    message: str


class Injected(NamedTuple):
    """A fault of a response."""

    spec: str
    drawn: int
    """The number of selected calls or streams."""
    changes: int
    """The number of changes: 0 if nothing matched the fault."""


@dataclass(slots=True)
class Record:
    """One response, streamed or not. Its JSON: `docs/inspect.schema.json`."""

    source: str
    protocol: str
    host: str
    model: str | None
    streamed: bool = True
    events: int = 0
    """Frames that carry data, `[DONE]` among them."""
    bytes: int = 0
    """Decoded bytes of the body."""
    finish: list[str] = field(default_factory=list)
    """Finish reasons in order of appearance, repeated ones too."""
    ended: bool = False
    """Whether the protocol's own end was seen: a finish reason or the terminal event."""
    broken: str | None = None
    """The error of the connection before the end of the body, if any."""
    error: str | None = None
    """The first in-band error."""
    calls: list[Call] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    changed: int = 0
    """Events that were rewritten for the client."""
    changes: list[str] = field(default_factory=list)
    """Names of the defects and shapes for which they were, in order of appearance."""
    notes: list[Note] = field(default_factory=list)
    faults: list[Injected] = field(default_factory=list)
    """The injected faults."""
    unwrapped: list[Note] = field(default_factory=list)
    """The text around it in a file, which was removed to read it."""


def runs_on_client(call: Call) -> bool:
    """Whether the client runs `call` and so must understand it."""
    return call.kind is not Kind.SERVER
