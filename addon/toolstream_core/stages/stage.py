"""The interface of a stage, and the abilities that only some stages have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, SkippedRun
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

type StageMaker = Callable[[Context], Stage]

# A stage has three verbs: `take`, `end`, `release`. What only some stages can do is a class of its own; which of
# them a stage has is looked for once, when its chain is built.


class Stage(ABC):
    """Gets each event of one stream once, in order, and returns what is forwarded in its place."""

    each = False
    """Whether it needs events without calls, finish, error or end, too."""

    def __init__(self, context: Context) -> None:
        """One stream, from its start."""
        self._context = context

    @abstractmethod
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        """The frames that are forwarded for `event`, whose fragments are `resolved`: its own, others, or none yet."""

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """The frames that are forwarded at the body's end; `clean` unless the connection broke."""
        del clean
        return ()

    def release(self) -> Iterable[Frame]:
        """The held frames, unchanged: an internal error loses nothing."""
        return ()


class Holds(ABC):
    """A stage that may hold frames."""

    @property
    @abstractmethod
    def holding(self) -> bool:
        """Whether it holds frames. Frames without content then wait after them."""

    @property
    def needs_text(self) -> bool:
        """Whether it needs events of text like the last one while it holds frames."""
        return True


class Counts(ABC):
    """A stage that uses the numbers of all events, those without content included."""

    @abstractmethod
    def on_quiet(self, raw: bytes, end: int) -> None:
        """Events without content were forwarded; the last one ends at `end` of `raw`, which may begin with others."""


class Indifferent(ABC):  # noqa: B024 - a mark
    """A stage that needs no event in the middle of a call."""


class Skippable(ABC):
    """A stage that does not need every event in the middle of a call."""

    @abstractmethod
    def needs_every_event(self, call: OpenCall) -> bool:
        """Whether it needs events like the last one, which only add plain text inside the arguments of `call`."""

    @abstractmethod
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        """Such events were forwarded in the same way as the one before them."""

    def accepts_any(self, call: OpenCall) -> bool:
        """Whether `on_skipped` is enough for events like the last one, whatever they add to the arguments of `call`."""
        del call
        return False
