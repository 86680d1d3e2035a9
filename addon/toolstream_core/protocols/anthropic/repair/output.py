"""What the client gets of a Messages stream, event by event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.framing import MISSING_EVENT_NAME
from toolstream_core.protocols.anthropic.repair.events import NAMED, Payload
from toolstream_core.stages.repair.event_repairer import EventRepairer

if TYPE_CHECKING:
    from toolstream_core.wire.frame import Frame


class NamedEventRepairer(EventRepairer):
    """Sends each event with its event line."""

    def put(self, payload: Payload, frame: Frame | None = None) -> None:
        """Send an event: `frame` with another payload, or a new one."""
        name = str(payload.get("type", ""))
        if frame is None:
            self._send(self.context.writer.make(payload, self.number, name))
        else:
            other = name if frame.name != name and name in NAMED else None
            self._send(self.context.writer.rewrite(frame, payload, other))

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
