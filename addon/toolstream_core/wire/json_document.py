"""A body that is one JSON document: one frame, at the end. Knows bytes only."""

from __future__ import annotations

from toolstream_core.wire.frame import Cutter, Frame
from toolstream_core.wire.sse import BOM


class DocumentFramer(Cutter):
    """Gathers the body for reading. Above the cap it is not one frame with data but oversize parts."""

    def _seek(self, chunk: bytes, at: int) -> int:
        del chunk, at
        return -1

    def _read(self, raw: bytes, *, trailing: bool) -> Frame:
        del trailing  # The end of the body is this framing's terminator.
        return Frame(raw, self._number, raw.removeprefix(BOM).strip() or None)
