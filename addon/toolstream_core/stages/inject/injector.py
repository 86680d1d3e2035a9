"""What every injector is given: which calls, events and streams it is to act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, override

from toolstream_core.stages.context import Context
from toolstream_core.stages.stage import Skippable, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import SkippedRun
    from toolstream_core.wire.frame import Frame


class Pick(Protocol):
    """Decides, by a fault's targets, probability and counts, where it acts; always the same for the same thing."""

    def call(self, call: OpenCall) -> bool:
        """Whether to act on this call. Asked at the call's first fragment and remembered."""
        ...

    def stream(self) -> bool:
        """Whether to act on this stream as a whole. Asked once and remembered."""
        ...

    def acted(self, times: int = 1) -> None:
        """Called when the injector has changed something, so many times, for the count that is reported."""
        ...


class Injector(Stage):
    """Causes one defect in a healthy stream."""

    def __init__(self, context: Context, pick: Pick) -> None:
        """`pick` says where."""
        super().__init__(context)
        self._pick = pick

    def _counted(self, frame: Frame, frames: Iterable[Frame]) -> list[Frame]:
        """The frames in place of one, counted as a change unless they are that one."""
        made = list(frames)
        if len(made) != 1 or made[0] is not frame:
            self._pick.acted()
        return made


class EditingInjector(Injector, Skippable):
    """Does an edit to the fragments of calls."""

    def __init__(self, context: Context, pick: Pick, *, steady: bool) -> None:
        """`steady`: whether it does the same to every fragment that is plain text in the middle of arguments."""
        super().__init__(context, pick)
        self._steady = steady
        self.acts = False
        """Whether it changed the event that it was given last."""
        self.calls: list[OpenCall] = []
        """The calls so far, in order."""
        self.kept: dict[int, Any] = {}
        """State of edits, by the `id()` of the call."""

    @property
    def context(self) -> Context:
        """What is known of the stream."""
        return self._context

    def first_time(self, call: OpenCall) -> bool:
        """Whether this is asked of the call for the first time."""
        asked = id(call) in self.kept
        self.kept[id(call)] = True
        return not asked

    @override
    def needs_every_event(self, call: OpenCall) -> bool:
        return not (self._steady and call.arguments.inside_value)

    @override
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        del call
        if self.acts:
            self._pick.acted(passed.events)


type InjectorMaker = Callable[[Context, Pick], Stage]
"""What makes the injector of a row, for one stream."""
