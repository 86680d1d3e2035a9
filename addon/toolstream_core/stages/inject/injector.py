"""What every injector is given: which calls, events and streams it is to act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from toolstream_core.stages.context import Context
from toolstream_core.stages.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolstream_core.calls import OpenCall
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


type InjectorMaker = Callable[[Context, Pick], Stage]
"""What makes the injector of a row, for one stream."""
