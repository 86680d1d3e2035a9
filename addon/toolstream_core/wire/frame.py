"""A frame: one SSE block, NDJSON line, JSON array element or binary message, with its bytes exactly as sent."""

from __future__ import annotations

import contextlib
import enum
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from toolstream_core.wire import long_json, numbers
from toolstream_core.wire.json_value import ABSENT, Absent, Json


class Form(enum.StrEnum):
    """The framing of a response's body."""

    WHOLE = "one JSON document"
    EVENTS = "server-sent events"
    LINES = "newline-delimited JSON"
    ARRAY = "a streamed JSON array"
    MESSAGES = "an AWS event stream"


CONTENT_TYPES = {
    Form.WHOLE: "application/json",
    Form.EVENTS: "text/event-stream",
    Form.LINES: "application/x-ndjson",
    Form.ARRAY: "application/json",
    Form.MESSAGES: "application/vnd.amazon.eventstream",
}
"""The `content-type` header of each."""


MAX_FRAME = 8 * 1024 * 1024
"""A larger frame, in bytes, is forwarded unread."""


class Frame:
    """A frame: its bytes as sent, and the parts that the framing defines. JSON is parsed once, when it is used.

    `raw` of all frames in order, joined, is the input. `number` counts the frames that carry data (for SSE: those that
    the standard dispatches, and those with an `error:`), from 0; a frame without data (comments, blank lines, a
    trailing rest) has the number of the next one with data and `data is None`.
    """

    __slots__ = ("data", "json", "name", "number", "oversize", "parsed", "raw", "trailing")

    json: Json | Absent
    """The data as JSON, or `ABSENT` if it is none. It is parsed when it is first used.

    Bytes that are no UTF-8 are replaced as WHATWG demands.
    """

    def __init__(
        self,
        raw: bytes,
        number: int,
        data: bytes | None,
        name: str = "",
        *,
        oversize: bool = False,
        trailing: bool = False,
    ) -> None:
        """`name` is the event type, or `""` (for SSE the standard's `message`)."""
        self.raw = raw
        self.number = number
        self.data = data
        self.name = name
        self.oversize = oversize
        """A part of a frame over the size limit, or of a damaged one: forwarded, never read."""
        self.trailing = trailing
        """Without the terminator of its framing. The SSE standard would not dispatch it."""
        self.parsed = False
        """Whether the JSON was parsed before, and costs nothing more."""

    if not TYPE_CHECKING:  # or every name would pass for an attribute

        def __getattr__(self, name: str) -> Json | Absent:
            """Fill the slot `json`: Python asks here only for what is not set."""
            if name != "json":
                raise AttributeError(name=name, obj=self)
            self.parsed = True
            try:
                data = self.data
                if not data:
                    self.json = ABSENT
                elif len(data) > long_json.LONG:
                    self.json = _long(data)
                else:
                    self.json = numbers.loads(data.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                self.json = ABSENT
            return self.json


class DamagedFrame(Frame):
    """Bytes that are invalid in their framing, such as a message with a wrong checksum: forwarded, never read.

    `oversize` is set, as for everything that is forwarded unread.
    """

    __slots__ = ("damage",)

    def __init__(self, raw: bytes, number: int, damage: str) -> None:
        """`damage`: the error, as part of a sentence."""
        super().__init__(raw, number, None, oversize=True)
        self.damage = damage


_READ_AHEAD: dict[bytes, Json | Absent] = {}


@contextlib.contextmanager
def read_ahead(data: bytes, value: Json | Absent) -> Iterator[None]:
    """In this context, frames with these data have `value`, which another thread has parsed."""
    _READ_AHEAD[data] = value
    try:
        yield
    finally:
        _READ_AHEAD.pop(data, None)


def _long(data: bytes) -> Json | Absent:
    return _READ_AHEAD[data] if data in _READ_AHEAD else long_json.loads(data.decode("utf-8", "replace"))


def parse(data: bytes | None) -> Json | Absent:
    """JSON of foreign bytes, read as a frame's data is."""
    return Frame(b"", 0, data).json


def holds_several(data: bytes) -> bool:
    """Whether the data of an event is an object, and at least one more object after it."""
    text = data.decode("utf-8", "replace").strip()
    if not text.startswith("{"):
        return False
    try:
        _, end = numbers.first(text, 0)
    except (ValueError, RecursionError):
        return False
    return text[end:].lstrip().removeprefix("data:").lstrip().startswith(("{", "[DONE]"))


def joined(frames: Iterable[Frame]) -> bytes:
    """The bytes of frames, joined."""
    return b"".join([frame.raw for frame in frames])


class Framer(ABC):
    """Splits a byte stream into frames, independent of chunk boundaries; keeps the open frame's bytes and number.

    A framing scans each byte once and remembers what it must (`_seek`), so a stream costs the same
    however it is cut. A frame above `max_frame` bytes, its leading blanks included, is returned in oversize
    parts at once, and none of it is kept. Whether a frame is oversize depends on its length
    alone, not on the cut; only where its parts begin does.
    """

    end = b""
    """The usual end of a frame whose framing consists of lines: equal bytes are split in the same way everywhere."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        """Frames over `max_frame` bytes are forwarded unread."""
        self._max = max_frame
        self._number = 0
        self._held = bytearray()
        self._over = False

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that `chunk` completes; `b""` is the end and gives what is left."""
        if not chunk:
            return self._finish()
        frames: list[Frame] = []
        position = 0
        while position < len(chunk) and (end := self._seek(chunk, position)) >= 0:
            self._take(chunk[position:end], frames)
            position = end
        if position < len(chunk):
            self._keep(chunk[position:] if position else chunk, frames)
        return frames

    @property
    def holding(self) -> bool:
        """Whether a frame is incomplete."""
        return bool(self._held or self._over)

    def skip(self) -> int:
        """Count a frame that was not split off. Returns its number."""
        self._number += 1
        return self._number - 1

    @abstractmethod
    def _seek(self, chunk: bytes, position: int) -> int:
        """Scan `chunk` from `position`. Returns the end of the open frame, or -1 if it does not end in the chunk."""

    @abstractmethod
    def _read(self, raw: bytes, *, trailing: bool) -> Frame:
        """The frame of `raw`, with the number `self._number`. `trailing`: the stream is over."""

    def _take(self, chunk: bytes, frames: list[Frame]) -> None:
        """`chunk` ends the open frame."""
        if self._over:
            self._over = False
            if chunk:
                frames.append(Frame(chunk, self._number, None, oversize=True))
            self._number += 1
            return
        raw = self._release(chunk) if self._held else chunk
        if len(raw) > self._max:
            frames.append(Frame(raw, self._number, None, oversize=True))
            self._number += 1
            return
        frames.append(self._numbered(self._read(raw, trailing=False)))

    def _keep(self, chunk: bytes, frames: list[Frame]) -> None:
        """`chunk` belongs to the open frame, which is not complete yet."""
        if not self._over and len(self._held) + len(chunk) <= self._max:
            self._held += chunk
            return
        self._over = True
        frames.append(Frame(self._release(chunk), self._number, None, oversize=True))

    def _finish(self) -> list[Frame]:
        """The rest at the end of the stream; none of an oversize frame."""
        if not self._held:
            return []
        return [self._numbered(self._read(self._release(b""), trailing=True))]

    def _numbered(self, frame: Frame) -> Frame:
        if frame.data is not None:
            self._number += 1
        return frame

    def _release(self, chunk: bytes) -> bytes:
        if not self._held:
            return chunk
        self._held += chunk
        raw = bytes(self._held)
        self._held.clear()
        return raw
