"""JSON Lines: each line is a frame. Knows bytes alone.

https://github.com/ndjson/ndjson-spec
"""

from __future__ import annotations

from typing import override

from toolstream_core.wire.frame import MAX_FRAME, Frame, TextCutter
from toolstream_core.wire.sse import BOM


class LineFramer(TextCutter):
    """Cuts a body at its line feeds. Blank lines open the next frame.

    The last line may lack its line feed and is then a frame with data all the same: `trailing` only means
    that it was not terminated.
    """

    end = b"\n"

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        """Bytes of one line above `max_frame` go through unread."""
        super().__init__(max_frame)
        self._blank = True

    @override
    def feed(self, chunk: bytes) -> list[Frame]:
        one_line = chunk.find(b"\n") == len(chunk) - 1 and not (self._held or self._over or chunk.isspace())
        if not (chunk and one_line) or len(chunk) > self._max:
            return super().feed(chunk)
        frame = self._read(chunk, trailing=False)
        self._number += 1
        return [frame]

    def _seek(self, chunk: bytes, at: int) -> int:
        while at < len(chunk):
            end = chunk.find(b"\n", at) + 1
            line = chunk[at:end] if end else chunk[at:]
            self._blank = self._blank and line.isspace()
            if not end:
                return -1
            if not self._blank:
                self._blank = True
                return end
            at = end
        return -1

    def _read(self, raw: bytes, *, trailing: bool) -> Frame:
        text = raw.strip()
        if not text:
            return Frame(raw, self._number, None, trailing=trailing)
        line = text if self._number else text.removeprefix(BOM)
        return Frame(raw, self._number, line, trailing=trailing)
