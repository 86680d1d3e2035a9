"""What every stage that sees a stream's events can be asked, and what only some can."""

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
    """Sees each event of one stream once, in order, and says what goes on in its place."""

    each = False
    """Whether it wants to see events that say nothing of calls, finish, error or end."""

    def __init__(self, context: Context) -> None:
        """One stream, from its start."""
        self._context = context

    @abstractmethod
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        """What goes on for `event`, whose fragments are in their calls: its own frame, others, or none yet."""

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """What is still to come at the body's end; `clean` unless the connection broke."""
        del clean
        return ()

    def release(self) -> Iterable[Frame]:
        """Whatever is held back, as it came: after a bug of ours nothing may be lost."""
        return ()


class Holds(ABC):
    """A stage that may hold frames back."""

    @property
    @abstractmethod
    def holding(self) -> bool:
        """Whether frames wait; those that say nothing have to queue behind them then."""


class HoldsBesideText(ABC):
    """A stage that may hold frames back, and past which text may go meanwhile."""

    @property
    @abstractmethod
    def needs_text(self) -> bool:
        """Whether events of text like the one taken last may matter, while it holds something."""


class Counts(ABC):
    """A stage that goes by the numbers of events, of those that say nothing too."""

    @abstractmethod
    def on_quiet(self, raw: bytes, end: int) -> None:
        """Events that say nothing went by; the last one ends at `end` of `raw`, which may begin with others."""


class Indifferent(ABC):  # noqa: B024 - a mark
    """A stage that nothing in the middle of a call concerns."""


class Skippable(ABC):
    """A stage that need not be shown every event in the middle of a call."""

    @abstractmethod
    def needs_every_event(self, call: OpenCall) -> bool:
        """Whether events like the one taken last may matter, but for plain text in the midst of `call`'s arguments."""

    @abstractmethod
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        """Such events went by, and as the one before them did."""


class SkippableWhole(Skippable):
    """A stage that need not be shown arguments which follow whole ones, whatever they say."""

    @abstractmethod
    def accepts_any(self, call: OpenCall) -> bool:
        """Whether `on_skipped` does for events like the one taken last, whatever they say of `call`'s arguments."""
