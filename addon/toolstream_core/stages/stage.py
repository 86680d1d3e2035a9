"""The interface of a stage."""

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

# A stage has three verbs: `take`, `end`, `release`. The rest has a default. Which stages have more than that is looked
# for once, when their chain is built: only these are asked at each event.


class Stage(ABC):
    """Gets each event of one stream once, in order, and returns what is forwarded in its place."""

    each = False
    """Whether it needs events without calls, finish, error or end, too."""
    indifferent = False
    """Whether it needs no event in the middle of a call."""

    def __init__(self, context: Context) -> None:
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

    @property
    def holding(self) -> bool:
        """Whether it holds frames. Frames without content then wait after them."""
        return False

    @property
    def needs_text(self) -> bool:
        """Whether it needs events of text like the last one while it holds frames."""
        return True

    def on_quiet(self, raw: bytes, end: int) -> None:
        """Events without content were forwarded; the last one ends at `end` of `raw`, which may begin with others."""
        del raw, end

    def needs_every_event(self, call: OpenCall) -> bool:
        """Whether it needs events like the last one, which only add plain text inside the arguments of `call`."""
        del call
        return True

    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        """Such events were forwarded in the same way as the one before them."""
        del call, passed

    def accepts_any(self, call: OpenCall) -> bool:
        """Whether `on_skipped` is enough for events like the last one with any addition to the arguments of `call`."""
        del call
        return False


def defines(stage: Stage, ability: str) -> bool:
    """Whether a stage has more than the default of a method or property."""
    return getattr(type(stage), ability) is not getattr(Stage, ability)
