"""Responses events on their way to the client: as they came, rewritten or new, under rising sequence numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.framing import SEQUENCE_NUMBERS
from toolstream_core.defects.stage import Context, Mender
from toolstream_core.wire import look

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.wire.frame import Frame


class EventsMender(Mender):
    """Says what goes on; what it is to be is decided in the classes made on it."""

    def __init__(self, context: Context) -> None:
        """As `Mender`."""
        super().__init__(context)
        self.context = context
        self.number = 0
        self._out: list[Frame] = []
        self._sequence: int | None = None
        self._counting = False

    def put(self, payload: dict[str, Json]) -> None:
        """Let a new event go on."""
        if self._sequence is not None:
            self._counting = True
            self._sequence += 1
            payload = {**payload, "sequence_number": self._sequence}
        self._out.append(self.context.writer.make(payload, self.number, str(payload["type"])))

    def _rewritten(self, frame: Frame, payload: dict[str, Json]) -> Frame:
        kind = payload.get("type")
        renamed = frame.name and kind != look.get(frame.json, "type") and isinstance(kind, str)
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
        if last is None or number > last:
            return payload
        if not self._counting:
            message = f"sequence number {number} after {last}"
            self._counting = self.tell(SEQUENCE_NUMBERS, self.number, message)
        if not self._counting:
            return payload
        self._sequence = last + 1
        return {**payload, "sequence_number": last + 1}
