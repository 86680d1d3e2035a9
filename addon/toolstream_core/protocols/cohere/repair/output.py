"""What goes on of a Cohere v2 stream, event by event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.defects.framing import MISSING_EVENT_NAME
from toolstream_core.protocols.cohere.wire import (
    CALL_DELTA,
    CALL_END,
    CALL_START,
    DONE,
    MESSAGE_END,
    MESSAGE_START,
    Payload,
)
from toolstream_core.stages.repair.event_repairer import EventRepairer

if TYPE_CHECKING:
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

NAMED: Final = frozenset(
    {
        CALL_DELTA,
        CALL_END,
        CALL_START,
        MESSAGE_END,
        MESSAGE_START,
        "citation-end",
        "citation-start",
        "content-delta",
        "content-end",
        "content-start",
        "tool-plan-delta",
    }
)


class NamedEventRepairer(EventRepairer):
    """Sends each event with its event line, where the stream has them."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._named = True
        """Whether the stream's events have event lines; decided by its first one."""
        self._begun = False

    @property
    def has_event_lines(self) -> bool:
        """Whether the stream's events have event lines."""
        return self._begun and self._named

    def put(self, payload: Payload) -> None:
        """Send a new event, named where the others are."""
        self._send(self.context.writer.make(payload, self.number, str(payload["type"]) if self._named else ""))

    def put_done(self) -> None:
        """Send the event that ends the stream."""
        self._send(self.context.writer.make(DONE, self.number))

    def _pass(self, frame: Frame, payload: Payload, changed: Payload) -> None:
        """Send an event, as the same frame where nothing in it changes."""
        kind = payload.get("type")
        named = isinstance(kind, str) and kind in NAMED
        if named and not self._begun:
            self._begun, self._named = True, bool(frame.name)
        nameless = named and self._named and not frame.name and b"data:" in frame.raw
        if nameless and self.report(MISSING_EVENT_NAME, frame.number, "the event has no event line, others have"):
            self._send(self.context.writer.rewrite(frame, {**changed}, str(kind)))
        elif changed is payload:
            self._send(frame)
        else:
            self._send(self.context.writer.rewrite(frame, changed))
