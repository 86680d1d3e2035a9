"""An event of a stream, as the tests and values of causes see it. Knows no protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.causes.what import What
    from toolstream_core.model import Json, StreamFacts
    from toolstream_core.wire.frame import Frame


class Part(NamedTuple):
    """An event, or one call of an event that has several."""

    what: What
    kind: str
    """The type of the event in the protocol; `""` for a new one."""
    body: Json
    call: OpenCall | None = None
    choice: int = 0
    line: str | None = None
    """Another event line than the original's."""
    joined: bool = False
    """Whether it shares an event with the part before it, where one event can have several calls."""
    late: bool = False
    """Whether it waits for the next event that belongs to no call."""


class Fields(Protocol):
    """What a cause asks of the protocol."""

    complete: str
    """The finish reason of a response without calls."""

    def get(self, part: Part, name: str) -> Json:
        """A field, or `ABSENT`."""

    def texts(self, part: Part, texts: Sequence[str], index: Json) -> Iterable[Part]:
        """New events with visible text; `index` is the place of a call."""

    def earlier_ids(self, request: Json) -> frozenset[str]:
        """The ids of the calls in a request's history."""


class Known(Protocol):
    """The facts of the exchange."""

    exchange: StreamFacts
    schemas: Mapping[str, Json]
    """The schema of the parameters of each offered tool."""

    def may_be_empty(self, name: str) -> bool:
        """Whether a tool may be called without arguments, or is unknown."""

    @property
    def parameterless(self) -> frozenset[str]:
        """The tools without parameters."""


@dataclass(slots=True)
class At:
    """An event, and what is known of its stream."""

    part: Part
    frame: Frame
    protocol: Fields
    context: Known
    calls: list[OpenCall]
    """The calls so far, in order."""
    start: Part | None
    """The first event of the call."""
    acted: int
    """How many events of this call, or of the stream, the cause has replaced."""
    beside: Sequence[Part]
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
