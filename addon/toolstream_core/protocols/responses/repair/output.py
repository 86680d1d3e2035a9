"""Responses events on their way to the client: as they came, rewritten or new, under rising sequence numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.framing import SEQUENCE_NUMBERS
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.held import Held
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

_UNREAD: Final = ("response.output_text.delta", "response.reasoning")
"""How the types of events begin that may go by without being read."""


class EventRepairer(Repairer):
    """Says what goes on; what it is to be is decided in the classes made on it."""

    def __init__(self, context: Context) -> None:
        """As `Repairer`."""
        super().__init__(context)
        self.context = context
        self.number = 0
        self._out: list[Frame] = []
        self._sequence: int | None = None
        self._counting = False
        self._counter: int | None = None
        """The sequence number of the last event that was judged."""
        self._begun = False
        self._cut: Frame | None = None
        """The last event, which the body's end cut off."""
        self._keeps: Frame | None = None
        """The event that was kept last."""
        self._unsent: Held | None = None
        """What was held when an event came that is still being dealt with."""
        self._gone = 0
        """How often something went on."""
        self._match = 0
        """How many events came by."""
        self._accounted = 0
        """How many of the items that are told from the start were audited."""

    def put(self, payload: dict[str, Json]) -> None:
        """Let a new event go on."""
        if self._sequence is not None:
            self._counting = True
            self._sequence += 1
            payload = {**payload, "sequence_number": self._sequence}
        self._out.append(self.context.writer.make(payload, self.number, str(payload["type"])))

    def _kind(self, frame: Frame) -> str:
        """The type of an event."""
        payload = frame.json
        return str(payload.get("type", frame.name)) if isinstance(payload, dict) else ""

    def _rewritten(self, frame: Frame, payload: dict[str, Json]) -> Frame:
        kind = payload.get("type")
        renamed = frame.name and kind != json_access.get(frame.json, "type") and isinstance(kind, str)
        return self.context.writer.rewrite(frame, payload, kind if renamed else None)

    def _go(self, frame: Frame, payload: dict[str, Json]) -> None:
        payload = self._counted(payload)
        self._out.append(frame if payload is frame.json else self._rewritten(frame, payload))

    def _counted(self, payload: dict[str, Json]) -> dict[str, Json]:
        """The event with a sequence number above the last one's, where the stream has them."""
        number = payload.get("sequence_number")
        if not isinstance(number, int):
            return payload
        last, self._sequence = self._sequence, number
        if last is None or number > last or not self._counting:
            return payload
        self._sequence = last + 1
        return {**payload, "sequence_number": last + 1}

    def _judge_number(self, payload: dict[str, Json], kind: str) -> None:
        """Tell a sequence number that is not above the last one; those of text, which goes by unread, are left out."""
        number = payload.get("sequence_number")
        if not isinstance(number, int) or kind.startswith(_UNREAD):
            return
        last, self._counter = self._counter, number
        if last is not None and number <= last:
            message = f"sequence number {number} after {last}"
            self._counting = self.report(SEQUENCE_NUMBERS, self.number, message) or self._counting
