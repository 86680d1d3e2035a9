"""The interface that splits a protocol's events into parts with named fields, and joins them again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum, auto
from types import MappingProxyType
from typing import NamedTuple

from toolstream_core.calls import OpenCall, ResolvedFragment
from toolstream_core.model import Event, Json
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_paths import put
from toolstream_core.wire.write import Writer


class What(StrEnum):
    """The kinds of events for a client, in all protocols."""

    HEAD = auto()
    """Begins the message."""
    START = auto()
    """Begins a call; the complete call if calls are not streamed."""
    DELTA = auto()
    """A fragment of a call."""
    WHOLE = auto()
    """Repeats the complete arguments, before the call's end."""
    STOP = auto()
    """Ends a call."""
    ITEM = auto()
    """A call inside the event that ends the response."""
    FINISH = auto()
    """Has the finish reason."""
    TAIL = auto()
    """Follows the finish, with the usage."""
    END = auto()
    """The last event."""
    ERROR = auto()
    """Reports an error of the provider."""
    EVENT = auto()
    """An event around its entries, if one event can have several calls."""
    OTHER = auto()
    """Concerns no call."""


class Part(NamedTuple):
    """An event, or one call of an event that has several."""

    what: What
    kind: str
    """The type of the event in the protocol; `""` for a new one."""
    body: Json
    call: OpenCall | None = None
    choice: int = 0
    line: str | None = None
    """A new event line."""
    joined: bool = False
    """Whether it shares an event with the part before it, if one event can have several calls."""
    late: bool = False
    """Whether it waits for the next event that belongs to no call."""


type Path = tuple[str, ...]
type Replaced = tuple[Part, Sequence[Part]]
"""A part, and those that are sent in its place."""


class EventCodec(ABC):
    """Reads and writes the events of one stream as parts."""

    paths: Mapping[What, Mapping[str, Path]] = MappingProxyType({})
    """The paths of fields that are not keys of the same name, by kind of part."""
    complete = ""
    """The finish reason of a response without calls."""
    renumbers = False
    """Whether later events must be renumbered."""
    ends_bare = False
    """Whether blocks without data are sent after the end."""

    @abstractmethod
    def parts(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Sequence[Part]:
        """The parts of an event; none if it is not an event of this protocol."""

    def get(self, part: Part, name: str) -> Json:
        """A field, or `ABSENT`."""
        return json_access.get(part.body, *self.path(part.what, name))

    def put(self, part: Part, name: str, value: Json) -> Part:
        """The part with another value in a field, or without the field; `data` and `payload` are its entire body."""
        body = value if name in {"data", "payload"} else put(part.body, self.path(part.what, name), value)
        return part._replace(body=body)

    def path(self, what: What, name: str) -> Path:
        """The path of a field in a part."""
        return self.paths.get(what, {}).get(name) or (name,)

    @abstractmethod
    def new(self, part: Part, what: What) -> Part:
        """A new event next to a part."""

    @abstractmethod
    def frames(self, event: Event, replaced: Sequence[Replaced], writer: Writer, *, ends_stream: bool) -> list[Frame]:
        """The frames of an event whose parts were replaced; `ends_stream`: the stream ends here."""

    def texts(self, part: Part, texts: Sequence[str], index: Json) -> Iterable[Part]:
        """New events with visible text; `index` is the place of a call."""
        return ()
