"""How a protocol takes an event apart into parts with named fields, and puts it together again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.defects.causes.rule import Part, What
    from toolstream_core.model import Event, Json
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer

type Path = tuple[str, ...]
type Payload = dict[str, Json]
type Replaced = tuple[Part, Sequence[Part]]
"""A part, and those that are sent in its place."""


class EventCodec(ABC):
    """The events of one stream."""

    complete = ""
    """The finish reason of a response without calls."""
    renumbers = False
    """Whether later events have to be rewritten too."""
    ends_bare = False
    """Whether blocks without data are still sent after the end."""

    @abstractmethod
    def parts(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Sequence[Part]:
        """The parts of an event; none if it is not an event of this protocol."""

    @abstractmethod
    def get(self, part: Part, name: str) -> Json:
        """A field, or `ABSENT`."""

    @abstractmethod
    def put(self, part: Part, name: str, value: Json) -> Part:
        """The part with another value in a field, or without the field."""

    @abstractmethod
    def new(self, part: Part, what: What) -> Part:
        """A new event beside a part."""

    @abstractmethod
    def frames(self, event: Event, made: Sequence[Replaced], writer: Writer, *, over: bool) -> list[Frame]:
        """The frames of an event whose parts were replaced. `over`: the stream ends here."""

    def texts(self, part: Part, texts: Sequence[str], index: Json) -> Iterable[Part]:
        """New events with visible text; `index` is the place of a call."""
        return ()
