"""How one protocol says content blocks: its events and their fields, as a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum, auto
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from toolstream_core.model import ABSENT
from toolstream_core.repair.fields import always, laid_over
from toolstream_core.stages.repair.identity import USUAL_ID
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Mapping

    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json, Severity
    from toolstream_core.repair.fields import Path, Payload
    from toolstream_core.repair.finish import FinishWords
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer


class What(StrEnum):
    """What an event is to a client that gathers blocks."""

    HEAD = auto()
    """Begins the message."""
    START = auto()
    """Begins a block."""
    DELTA = auto()
    """Brings a part of a block."""
    STOP = auto()
    """Ends a block."""
    FINISH = auto()
    """Says why the message ends."""
    TAIL = auto()
    """Follows the finish, with the usage."""
    END = auto()
    """Nothing follows it."""
    OTHER = auto()
    """Concerns no block."""


class Said(NamedTuple):
    """One event."""

    what: What
    kind: str
    """The wire's word for it."""
    body: Payload
    """The object that has the event's fields."""


UNREAD: Final = Said(What.OTHER, "", {})
"""What is no event of the protocol."""
INDEX: Final = "index"
ID: Final = "id"
NAME: Final = "name"
TYPE: Final = "type"
ARGUMENTS: Final = "arguments"
REASON: Final = "reason"
USAGE: Final = "usage"


class Rewrite(Protocol):
    """The frame of an event with another body; `line`: whether it gets its event line."""

    def __call__(self, writer: Writer, frame: Frame, said: Said, body: Payload, *, line: bool) -> Frame:
        """Write it."""


class Make(Protocol):
    """The frame of a new event, as part of the event `number`; `line` as the first event of the stream has it."""

    def __call__(self, writer: Writer, what: What, body: Payload, number: int, *, line: bool) -> Frame:
        """Write it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRows:
    """The names of what can be wrong with an index."""

    missing: Row
    odd: Row
    reused: Row
    offset: Row | None
    """`None` where an index may be any number."""
    changing: Row


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockForm:
    """One protocol's events. What a strict reader has to find in each is in the stage; where it finds it, is here."""

    read: Callable[[Frame], Said | None]
    rewrite: Rewrite
    make: Make
    keyed: Callable[[Frame], bool] = lambda frame: bool(frame.name)
    """Whether events of the stream look like this one: with an event line, or under a key."""
    paths: Mapping[What, Mapping[str, Path]]
    """Where each event has its fields."""
    start: Mapping[str, Json]
    """Fields of every start: what stands for arguments that come in deltas, and the type."""
    new: Mapping[What, Payload]
    """New events, to be filled in."""
    text_block: Callable[[Json, str], Iterable[tuple[What, Payload]]]
    """Events of a text block under an index; none where the protocol counts text apart."""
    usage: Mapping[What, Json]
    """What stands for a usage that did not come."""
    words: FinishWords
    """The finish reasons."""
    index_rows: IndexRows
    counted: bool = True
    """Whether indexes count from 0 upwards by one."""
    implicit: bool = False
    """Whether text comes under indexes that no event starts."""
    late_identity: bool = False
    """Whether deltas may have an id and a name."""
    event_lines: frozenset[str] = frozenset()
    """The events that have an event line of their name."""
    last: str = ""
    """The event line of the last event, where clients stop at that."""
    lines_by_first: bool = False
    """Whether events need one only where the stream's first has one."""
    end_row_severity: Severity | None = None
    wrong_finish_severity: Severity | None = None
    repeated_finish: Row | None = None
    """The name of a finish that comes twice; `None` where it may."""
    after_end: Row | None = None
    """The name of what follows the end; `None` where it passes."""
    nobodys: int = 1 << 16
    """The index from which on no answer has blocks."""
    usual_id: re.Pattern[str] = USUAL_ID
    earlier_ids: Callable[[Json], frozenset[str]] = field(default=lambda request: frozenset())  # noqa: ARG005
    split: Callable[[Said], tuple[Row | None, list[Said]]] | None = None
    """An event that says several blocks, as one event for each, and the name of that."""
    bare: frozenset[str] = frozenset()
    """The keys of an event that only ends something."""

    def get(self, said: Said, name: str) -> Json:
        """A field of an event, or `ABSENT`."""
        path = self.paths.get(said.what, {}).get(name)
        return ABSENT if path is None else json_access.get(said.body, *path)

    def has(self, said: Said, name: str) -> bool:
        """Whether events of this kind can have the field."""
        return name in self.paths.get(said.what, {})

    def filled(self, what: What, **fields: Json) -> Payload:
        """The body of a new event."""
        return laid_over(self.new[what], fields, always, self.paths[what])


def number_of(index: Json) -> int | None:
    """An index in any spelling; all else says nothing."""
    number = index if type(index) is int else json_access.integer(index)
    return number if isinstance(number, int) else None
