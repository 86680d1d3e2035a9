"""What a protocol says of its events to the injectors that all protocols share.

They serve protocols that start a call, send its arguments and end it in events of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Json, Phase
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer

type Payload = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WireEvent(ABC):
    """One event. Edits give changed copies; what they are given fits their event (`with_id` is asked of starts)."""

    kind: str
    """The type of the event."""
    body: Payload
    """What it says."""

    PHASES: ClassVar[Mapping[str, Phase]]
    """The types of the events of calls: `OPEN` starts one, `MORE` is a delta, `CLOSE` ends it."""
    INDEX: ClassVar[str] = "index"
    """The key of a call's place."""
    MESSAGE_START: ClassVar[str]
    """The type of the event that begins an answer."""
    END_OF_TURN: ClassVar[str]
    """The finish reason of an answer without calls."""

    @property
    def phase(self) -> Phase | None:
        """What the event says of a call; `None` for the events around calls."""
        return self.PHASES.get(self.kind)

    @property
    @abstractmethod
    def text(self) -> str:
        """The argument text of a delta; `""` for every other event."""

    @abstractmethod
    def with_text(self, text: Json) -> Self:
        """A delta with other arguments."""

    @abstractmethod
    def with_id(self, identity: str) -> Self:
        """A start with another id."""

    def without_id(self) -> Self:
        """A start without an id."""
        return self.with_id("")

    @abstractmethod
    def with_name(self, name: str) -> Self:
        """A start with another name."""

    @abstractmethod
    def with_arguments(self, call: OpenCall) -> Self:
        """A start that has the whole arguments of its call."""

    @property
    @abstractmethod
    def finishes(self) -> bool:
        """Whether the event says the finish reason."""

    @abstractmethod
    def with_reason(self, reason: str) -> Self:
        """The event that finishes, with another reason."""

    @abstractmethod
    def arguments_delta(self, index: int, text: str) -> Self:
        """A new delta of a call."""

    @abstractmethod
    def end_of_call(self, index: int) -> Self:
        """A new event that ends a call."""

    @abstractmethod
    def text_block(self, index: int | None, texts: Iterable[str]) -> Iterable[Self]:
        """New events of a block of visible text, a delta for each of `texts`. `index` is where a call had its place."""

    @abstractmethod
    def failure(self) -> Self:
        """A new event that says an error of the provider."""

    def at(self, index: int) -> Self:
        """The event of a call, at another place."""
        return self.with_body({**self.body, self.INDEX: index})

    def with_body(self, body: Payload) -> Self:
        """The event with another body."""
        return replace(self, body=body)

    def rewritten(self, frame: Frame, writer: Writer) -> Frame:
        """`frame`, in which this event came, with what it says now."""
        return writer.rewrite(frame, self.body)

    def made(self, number: int, writer: Writer) -> Frame:
        """A new frame, as part of event `number`."""
        return writer.make(self.body, number, self.kind)


type Reader = Callable[[Frame], WireEvent | None]
"""What a protocol makes of a frame; `None` where the frame is not an event of this protocol."""
