"""The base of repairers that send several events for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.stages.repair.repairer import Repairer

if TYPE_CHECKING:
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame


class EventRepairer(Repairer):
    """Collects what the client gets for one event; each frame with the end that its framing demands."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.context = context
        self.number = 0
        """The number of the event that is being repaired."""
        self._out: list[Frame] = []
        """What the client gets for it."""

    def _send(self, frame: Frame) -> None:
        """Send a frame; a frame before it that lacked its end gets one."""
        if self._out and self._out[-1].trailing:
            self._out[-1] = self.context.writer.ended(self._out[-1])
        self._out.append(frame)
