"""What a Cohere stream says behind the start of a second message: nothing of it is repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.cohere.wire import CALL_DELTA, CALL_END, CALL_START, NOBODYS, index_of, kind_of
from toolstream_core.stages.repair.second_message import EarlierPlaces

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.cohere.repair.calls import ClientCalls
    from toolstream_core.wire.frame import Frame


class SecondMessage:
    """Sends its events as they came. Those of a call from before keep the index under which the client has it."""

    def __init__(self, before: ClientCalls) -> None:
        """`before`: the calls of the first message."""
        moved: dict[int | None, Json] = {index: one.place for index, one in before.indexes.items() if one.moved}
        if before.last is not None and before.last.moved:
            moved[None] = before.last.place
        self._before = EarlierPlaces(moved, NOBODYS)
        self._writer = before.context.writer

    def passed(self, frame: Frame) -> Frame:
        """What goes on for an event."""
        payload, kind = frame.json, kind_of(frame.json, frame.name)
        if not isinstance(payload, dict) or kind not in {CALL_START, CALL_DELTA, CALL_END}:
            return frame
        place = self._before.place(index_of(payload), starts=kind == CALL_START)
        return frame if place is None else self._writer.rewrite(frame, {**payload, "index": place})
