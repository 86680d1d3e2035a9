"""The nouns: what a wire says of tool calls, before and after it is understood. Knows no protocol."""

from __future__ import annotations

import enum
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.stage import Mended
    from toolstream_core.wire.frame import Frame


class Absent(enum.Enum):
    """The type of `ABSENT`, so that `Seen` narrows under `is`."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        """Read as the bare name in reports and assertion diffs."""
        return "ABSENT"

    def __bool__(self) -> bool:
        """Absent is as false as null and empty, so `if fragment.id` means "there is one"."""
        return False


ABSENT: Final = Absent.ABSENT

type Seen[T] = T | Absent | None
"""A value as the wire has it: absent, JSON null, or there. The three are never collapsed here."""


class Phase(enum.StrEnum):
    """Where in its protocol's life of a call a fragment stands."""

    OPEN = "open"
    """Announces a call (`output_item.added`, `content_block_start`)."""
    MORE = "more"
    """A delta."""
    ARGUMENTS = "arguments"
    """Says the whole arguments once more (`function_call_arguments.done`)."""
    CLOSE = "close"
    """Closes the call, perhaps saying it whole (`output_item.done`, `content_block_stop`)."""
    WHOLE = "whole"
    """Says a call that may never have been streamed (`message.tool_calls`, `response.completed`)."""


class Kind(enum.StrEnum):
    """Who runs a call, and what its arguments are."""

    FUNCTION = "function"
    """The client runs it; arguments are JSON text."""
    CUSTOM = "custom"
    """The client runs it; arguments are free text (Responses `custom_tool_call`)."""
    SERVER = "server"
    """The provider runs it (Anthropic `server_tool_use`, Responses `web_search_call`)."""


class Fragment(NamedTuple):
    """One tool-call entry of one event, as seen. A tuple because one is made for every delta."""

    choice: int = 0
    index: Seen[int] = ABSENT  # type: ignore[assignment]  # a tuple has a method of this name
    """The protocol's place of the call: `index`, `output_index`, content block index."""
    id: Seen[str] = ABSENT
    """The id that the client answers to: `id`, `call_id`."""
    item_id: Seen[str] = ABSENT
    """A second id that only the stream uses (Responses `item_id`)."""
    name: Seen[str] = ABSENT
    arguments: Seen[str] = ABSENT
    """Argument text; an object on the wire is its JSON text here."""
    type: Seen[str] = ABSENT
    phase: Phase = Phase.MORE
    kind: Kind = Kind.FUNCTION
    as_wanted: bool = True
    """Whether the entry came in the form that the protocol wants: in a list, arguments as text, index a number."""
    cut: bool = False
    """Whether it says itself that the call was cut off (`status` of a Responses item)."""


class Finish(NamedTuple):
    """A finish reason as seen: `finish_reason`, `stop_reason`, `status`, `finishReason`."""

    choice: int
    reason: str
    """Perhaps `""`, which some servers send while the turn goes on."""


class Said(NamedTuple):
    """What one event says that matters to tool calls."""

    fragments: tuple[Fragment, ...] = ()
    finishes: tuple[Finish, ...] = ()
    text: str = ""
    """Visible text, of all choices."""
    model: str | None = None
    error: str | None = None
    """An in-band error, as text."""
    end: bool = False
    """Nothing of this answer follows (`[DONE]`, `message_stop`, `response.completed`)."""
    thought: str = ""
    """Reasoning that is shown, of all choices."""


SILENCE: Final = Said()
"""What a frame says that concerns no tool call, finish, error or end."""


class Event:
    """A frame and, derived on demand, what it means. A stage that wants another event makes another frame."""

    __slots__ = ("_read", "_said", "frame")

    def __init__(self, frame: Frame, read: Callable[[Frame], Said], said: Said | None = None) -> None:
        """`read` is the dialect's reader, which never raises; `said` is what the frame says, where that is known."""
        self.frame = frame
        self._read = read
        self._said = said

    @property
    def said(self) -> Said:
        """What the frame says, read once."""
        if self._said is None:
            self._said = self._read(self.frame)
        return self._said


class Runs:
    """Event numbers, rising, kept as runs so that a call of a million deltas costs a few bytes."""

    __slots__ = ("_bounds",)

    def __init__(self) -> None:
        """Start empty."""
        self._bounds = array("q")

    def add(self, number: int) -> None:
        """Append `number`; the one added last may be added again."""
        bounds = self._bounds
        if bounds and bounds[-1] == number:
            bounds[-1] = number + 1
        elif not bounds or bounds[-1] <= number:
            bounds.extend((number, number + 1))

    def extend(self, first: int, count: int) -> None:
        """Append so many numbers from `first` on."""
        self.add(first)
        self._bounds[-1] = first + count

    def __iter__(self) -> Iterator[int]:
        """Each number once, rising."""
        bounds = self._bounds
        for at in range(0, len(bounds), 2):
            yield from range(bounds[at], bounds[at + 1])

    def __len__(self) -> int:
        """How many numbers."""
        return sum(self._bounds[1::2]) - sum(self._bounds[::2])


@dataclass(slots=True)
class Call:
    """One resolved call: what the fragments meant together."""

    choice: int
    position: int
    """Its place among the calls of its choice, in the order in which they appeared."""
    kind: Kind = Kind.FUNCTION
    id: str = ""
    name: str = ""
    arguments: str = ""
    complete: bool = False
    """Whether it is whole: the protocol said that it is over, or its arguments are a whole JSON object."""
    guessed: bool = False
    """Whether a boundary rests on a guess; no repair may act on this call then."""
    events: Runs = field(default_factory=Runs)


class Severity(enum.StrEnum):
    """How bad a finding is. Only errors and warnings count for exit codes."""

    ERROR = "error"
    """No correct reader can get the calls right from this."""
    WARNING = "warning"
    """Outside the protocol's letter; a careful reader has to guess."""
    NOTE = "note"
    """Lawful or tolerated, but known to break clients."""


class Finding(NamedTuple):
    """Something wrong with a stream, where it shows."""

    code: str
    name: str
    severity: Severity
    event: int
    call: int | None
    message: str
    repair: str | None = None


class Passed(NamedTuple):
    """Events that went by unparsed: each brought some text of one call's arguments, and said nothing else."""

    first: int
    """Number of the first one; the others follow it."""
    events: int
    size: int
    """Bytes."""
    text: str
    """Their texts, joined, where they are plain."""
    last: str
    """The text of the last one."""
    changed: bool
    """Whether they were rewritten."""
    counter: int | None
    """The number that the last one gives itself, where they do."""
    pieces: Sequence[str] = ()
    """Their texts one by one, where they are not plain."""


class Observer(Protocol):
    """Sees every event and changes nothing."""

    def __call__(self, event: Event) -> None:
        """An event that may say something."""
        ...

    each: bool
    """Whether it wants to see every single frame, those that say nothing too."""

    def quiet(self, first: int, frames: int, size: int) -> None:
        """So many frames from number `first` on, of `size` bytes, that say nothing of calls, finish, error or end."""
        ...

    def goes_by(self, event: Event, call: OpenCall, change: Mended | None) -> None:
        """An event that brings plain text of `call`'s arguments, and what it becomes if it is changed.

        Only where somebody wants to see each one; `went_by` counts it.
        """
        ...

    def went_by(self, call: OpenCall, passed: Passed) -> None:
        """Events that brought plain text of `call`'s arguments."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What is known of a stream beside its own bytes."""

    source: str = ""
    """Where it was read from, for people: `flows/glm-5.flow#0`, `-`, or the flow's id."""
    host: str = ""
    path: str = ""
    """Request path with query; decides the order in which dialects are tried."""
    content_type: str = ""
    content_encoding: str = ""
    status: int = 200
    request: Json = ABSENT
    """The request's JSON body: model, tools, stream_options."""


type Json = Any
"""Foreign JSON, looked at through `wire.look` only."""
type Stage = Callable[[Event], Iterable[Event]]
"""Every repair, fault and shape: one event in, what goes on out."""
