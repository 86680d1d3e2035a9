"""What the client gets of a Messages stream, event by event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.framing import MISSING_EVENT_NAME
from toolstream_core.protocols.anthropic.repair.events import NAMED, Payload
from toolstream_core.stages.repair.repairer import Repairer

if TYPE_CHECKING:
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame


class EventRepairer(Repairer):
    """Collects what the client gets for one event; each event with its event line and its blank line."""

    def __init__(self, context: Context) -> None:
        """As `Repairer`."""
        super().__init__(context)
        self.context = context
        self.number = 0
        """The number of the event that is being repaired."""
        self._out: list[Frame] = []
        """What the client gets for it."""

    def put(self, payload: Payload, frame: Frame | None = None) -> None:
        """Send an event: `frame` with another payload, or a new one."""
        name = str(payload.get("type", ""))
        if frame is None:
            self._send(self.context.writer.make(payload, self.number, name))
        else:
            other = name if frame.name != name and name in NAMED else None
            self._send(self.context.writer.rewrite(frame, payload, other))

    def _send(self, frame: Frame) -> None:
        """Send a frame; a frame before it that lacked its blank line gets one."""
        if self._out and self._out[-1].trailing:
            self._out[-1] = self.context.writer.ended(self._out[-1])
        self._out.append(frame)

    def _pass(self, frame: Frame, payload: Payload, changed: Payload) -> None:
        """Send an event, as the same frame where nothing in it changes."""
        kind = payload.get("type")
        nameless = not frame.name and isinstance(kind, str) and kind in NAMED and b"data:" in frame.raw
        if nameless and self.report(MISSING_EVENT_NAME, frame.number, "the event has no event line"):
            self.put({**changed}, frame)
        elif changed is payload:
            self._send(frame)
        else:
            self._send(self.context.writer.rewrite(frame, changed))
