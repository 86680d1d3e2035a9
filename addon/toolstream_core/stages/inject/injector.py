"""What every plant is given: which calls, events and streams it is to act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, override

from toolstream_core.stages.context import Context
from toolstream_core.stages.stage import Skippable, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import SkippedRun


class Pick(Protocol):
    """Decides, by a fault's targets, probability and counts, where it acts; always the same for the same thing."""

    def call(self, call: OpenCall) -> bool:
        """Whether to act on this call. Asked at the call's first fragment and remembered."""
        ...

    def stream(self) -> bool:
        """Whether to act on this stream as a whole. Asked once and remembered."""
        ...

    def acted(self, times: int = 1) -> None:
        """Called when the plant has changed something, so many times, for the count that is told."""
        ...


class Injector(Stage):
    """Causes one defect in a healthy stream."""

    def __init__(self, context: Context, pick: Pick) -> None:
        """`pick` says where."""
        super().__init__(context)
        self._pick = pick


class StatelessInjector(Injector, Skippable):
    """Does something to the fragments of calls."""

    def __init__(self, context: Context, pick: Pick, *, steady: bool) -> None:
        """`steady`: whether it does the same to every fragment that is plain text in the midst of arguments."""
        super().__init__(context, pick)
        self._steady = steady
        self.acts = False
        """Whether it changed the event that it was given last."""

    @override
    def needs_every_event(self, call: OpenCall) -> bool:
        return not (self._steady and call.arguments.inside_value)

    @override
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        del call
        if self.acts:
            self._pick.acted(passed.events)


type InjectorMaker = Callable[[Context, Pick], Stage]
"""What a row's plant is in the tables: makes the stage for one stream."""
