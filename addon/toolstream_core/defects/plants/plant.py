"""What every plant is given: which calls, events and streams it is to act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from toolstream_core.defects.stage import Context, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.calls import OpenCall


class Pick(Protocol):
    """Decides, by a fault's targets, probability and counts, where it acts; always the same for the same thing."""

    def call(self, call: OpenCall) -> bool:
        """Whether to act on this call. Asked at the call's first fragment and remembered."""
        ...

    def stream(self) -> bool:
        """Whether to act on this stream as a whole. Asked once and remembered."""
        ...

    def acted(self) -> None:
        """Called each time the plant has changed something, for the count that is told."""
        ...


class Plant(Stage):
    """Causes one defect in a healthy stream."""

    def __init__(self, context: Context, pick: Pick) -> None:
        """`pick` says where."""
        super().__init__(context)
        self._pick = pick


type Planter = Callable[[Context, Pick], Stage]
"""What a row's plant is in the tables: makes the stage for one stream."""
