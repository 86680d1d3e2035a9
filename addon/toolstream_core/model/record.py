"""What one answer was: the one record that every report prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.model.fragment import Kind

if TYPE_CHECKING:
    from toolstream_core.model.call import Call
    from toolstream_core.model.finding import Finding


class Note(NamedTuple):
    """What was done to an answer beside its events, or could not be done."""

    name: str
    """Of the defect or the shape that it was done for, or of what was removed."""
    message: str


class Injected(NamedTuple):
    """A fault that was aimed at an answer."""

    spec: str
    drawn: int
    """How many calls, or streams, were drawn to be hit."""
    changes: int
    """How many changes were made: none, where the fault found nothing to act on."""


@dataclass(slots=True)
class Record:
    """One answer, streamed or whole. Shape of its JSON: `docs/inspect.schema.json`."""

    source: str
    dialect: str
    host: str
    model: str | None
    streamed: bool = True
    events: int = 0
    """Frames that carry data, `[DONE]` among them."""
    bytes: int = 0
    """Decoded bytes of the body."""
    finish: list[str] = field(default_factory=list)
    """Finish reasons in order of appearance, one entry for each time one was said."""
    ended: bool = False
    """Whether the protocol's own end was seen: a finish reason or the terminal event."""
    broken: str | None = None
    """How the connection broke before the body's end, where it did."""
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
    """What was done to break it on purpose."""
    unwrapped: list[Note] = field(default_factory=list)
    """What stood around it in a file, and was removed to read it."""


def runs_on_client(call: Call) -> bool:
    """Whether the client runs `call` and so must understand it."""
    return call.kind is not Kind.SERVER
