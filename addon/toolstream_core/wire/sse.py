"""Server-sent events, exactly by the WHATWG standard. Knows bytes, not the meaning of the data.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

# The standard defines how to read an event stream. This framer must also return every byte, in frames that do not
# depend on chunk boundaries. This needs four decisions.
#
# A frame is the text between two blank lines. Its bytes begin at the end of the previous frame, and include the blank
# line at its end. Further blank lines are the beginning of the next frame. So CR and LF at the beginning of a frame
# are skipped, and its end is searched after them. A block of comments, or one without a data line, is a frame too
# (`data is None`): the standard does not dispatch it, but its bytes are forwarded.
#
# A line ends with LF, CRLF or CR. After CR, the next byte may be its LF, possibly in the next chunk, and the result
# must not depend on that. If a line ended with LF or CRLF and the blank line is `CR`, the framer waits for a byte.
# If a line ended with a bare CR and another CR follows, the frame ends at that CR at once: otherwise every event of
# a stream of bare CRs would be late. If an LF follows, it begins the next frame as a blank line, which changes no
# event. In one expression:
#
#     LF LF | LF CR LF | LF CR (when no LF follows) | CR CR          (`_END`)
#
# llama.cpp's server reports a failed response in a field `error`, which the standard does not have: a block with it,
# and without data, is read as an event of that name.
#
# Each byte is scanned once. Between chunks, only two things are kept: whether the frame has only blanks so far
# (`_blank`), and its last two bytes (`_tail`), because an incomplete match of `_END` is never longer. So the scan
# continues even in a frame that is too large to be kept, which is not read (and neither is its `id`).
#
# Nearly every chunk of a live stream is a complete block, `data: {...}` or `event: x` and `data: {...}`, with no bytes
# waiting. `feed` recognises these by searching only LF and CR (`memchr`, the fastest search), and has a general path
# for everything else. Tests assert that both paths give the same frames.

from __future__ import annotations

import re

from toolstream_core.wire.frame import MAX_FRAME, Frame, Framer

BOM = b"\xef\xbb\xbf"
_END = re.compile(rb"\n(?:\r?\n|\r(?!\n|\Z))|\r\r")
_NOT_BLANK = re.compile(rb"[^\r\n]")
_SPACE = 0x20
_WAITING = b"\n\r"


class SseFramer(Framer):
    """Splits an event stream into its blocks.

    An incomplete block at the end is a frame marked `trailing` with data, although the standard would not dispatch it.
    """

    end = b"\n\n"

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        """Blocks over `max_frame` bytes are forwarded unread."""
        super().__init__(max_frame)
        self._blank = True
        self._tail = b""
        self._started = False
        self._bom = False

    def feed(self, chunk: bytes) -> list[Frame]:
        """The blocks that `chunk` completes; `b""` is the end and gives what is left."""
        if self._held or self._over or len(chunk) > self._max:
            return super().feed(chunk)
        frames: list[Frame] = []
        position = 0
        while position < len(chunk) and (frame := self._plain(chunk, position)) is not None:
            frames.append(frame)
            position += len(frame.raw)
            self._number += 1
        if not frames:
            return super().feed(chunk)
        self._started = True
        return frames if position == len(chunk) else frames + super().feed(chunk[position:])

    def _plain(self, chunk: bytes, position: int) -> Frame | None:
        """The block at `position` if it is a usual one: a data line, possibly with an event line before it."""
        name, line = "", position
        if not chunk.startswith(b"data:", position):
            line = chunk.find(b"\n", position) + 1
            if not chunk.startswith(b"event: ", position) or not chunk.startswith(b"data:", line) or not line:
                return None
            content_type = chunk[position + 7 : line - 1].removesuffix(b"\r")
            if b"\r" in content_type:
                return None
            name = content_type.decode("utf-8", "replace")
        lf = chunk.find(b"\n", line)
        if lf < 0:
            return None
        cr = chunk.find(b"\r", line, lf)
        end, stop = (lf, lf + 2) if cr < 0 else (cr, lf + 3)
        if chunk[end:stop] not in {b"\n\n", b"\r\n\r\n"}:
            return None
        begin = line + (6 if chunk[line + 5] == _SPACE else 5)
        return Frame(chunk[position:stop], self._number, chunk[begin:end], name)

    def _seek(self, chunk: bytes, position: int) -> int:
        if self._blank:
            position = self._skip(chunk, position)
        if self._blank:
            return -1
        if self._tail:
            across = _END.search(self._tail + chunk[position : position + 2])
            if across is not None:
                return self._ended(position + across.end() - len(self._tail))
        inside = _END.search(chunk, position)
        if inside is not None:
            return self._ended(inside.end())
        self._tail = (self._tail + chunk[max(position, len(chunk) - 2) :])[-2:]
        return -1

    def _skip(self, chunk: bytes, position: int) -> int:
        """Skip a byte order mark at the start of the body (`_tail` is its part so far) and blank lines."""
        if not self._started:
            head = self._tail + chunk[position : position + len(BOM)]
            if len(head) < len(BOM) and BOM.startswith(head):
                self._tail = head
                return position
            position += self._start(head)
        text = _NOT_BLANK.search(chunk, position) if self._blank else None
        self._blank = self._blank and text is None
        return position if text is None else text.start()

    def _start(self, head: bytes) -> int:
        """The number of further bytes of the chunk that belong to a byte order mark."""
        self._started = True
        seen, self._tail = len(self._tail), b""
        self._bom = head.startswith(BOM)
        self._blank = self._bom or not seen
        return len(BOM) - seen if self._bom else 0

    def _ended(self, end: int) -> int:
        self._blank = True
        self._tail = b""
        return end

    def _finish(self) -> list[Frame]:
        """The rest. A blank line that ends in CR was only waiting for an LF, and is complete now."""
        if self._tail != _WAITING:
            return super()._finish()
        self._ended(0)
        frames: list[Frame] = []
        self._take(b"", frames)
        return frames

    def _read(self, raw: bytes, *, trailing: bool) -> Frame:
        name, data, error = "", [], []
        # The mark is the stream's first bytes: in the frames after an oversize first one it is none.
        lines = raw[len(BOM) :] if self._bom and not self._number else raw
        self._bom = False
        for line in lines.splitlines():
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value)
            elif field == b"error":
                error.append(value)
            elif field == b"event":
                name = value.decode("utf-8", "replace")
        if error and not data:
            name, data = "error", error
        payload = b"\n".join(data) if data else None
        return Frame(raw, self._number, payload, name, trailing=trailing)
