"""What a Cohere stream says behind the start of a second message: nothing of it is repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.cohere.wire import CALL_DELTA, CALL_END, CALL_START, index_of, kind_of

if TYPE_CHECKING:
    from toolstream_core.protocols.cohere.repair.calls import ClientCalls
    from toolstream_core.wire.frame import Frame


class SecondMessage:
    """Sends its events as they came. Those of a call from before keep the index under which the client has it."""

    def __init__(self, before: ClientCalls) -> None:
        """`before`: the calls of the first message."""
        self._before = before
        self._indexes: set[int | None] = set()
        """Where calls have started in this one."""

    def passed(self, frame: Frame) -> Frame:
        """What goes on for an event."""
        payload, kind = frame.json, kind_of(frame.json, frame.name)
        if not isinstance(payload, dict) or kind not in {CALL_START, CALL_DELTA, CALL_END}:
            return frame
        index = index_of(payload)
        if kind == CALL_START:
            self._indexes.add(index)
        one = self._before.indexes.get(index) if index is not None else self._before.last
        if one is None or not one.moved or not self._indexes.isdisjoint({index, one.place}):
            return frame
        return self._before.context.writer.rewrite(frame, {**payload, "index": one.place})
