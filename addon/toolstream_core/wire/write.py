"""Rewrites frames and makes new ones. Knows the framings, and no protocol."""

from __future__ import annotations

from typing import Final, Protocol

from toolstream_core.wire import aws_event_stream, numbers
from toolstream_core.wire.aws_event_stream import EventStreamFramer, decode, with_payload
from toolstream_core.wire.frame import Frame, Framer
from toolstream_core.wire.json_framings import ArrayFramer, DocumentFramer
from toolstream_core.wire.json_value import Json
from toolstream_core.wire.sse import BOM, SseFramer

_USUAL: Final = frozenset({b"data: ", b"\ndata: "})
"""The last seven bytes before the data of most blocks."""
_BEFORE_DATA: Final = frozenset({b"data:", b"data: ", b"error:", b"error: "})


def encoded(payload: Json) -> bytes:
    """Compact JSON, keys in their order; bytes as they are. A lone surrogate has no UTF-8 and is escaped."""
    if isinstance(payload, bytes):
        return payload
    try:
        return numbers.dumps(payload).encode()
    except UnicodeEncodeError:
        return numbers.dumps(payload, ascii_only=True).encode()


class Writer(Protocol):
    """Makes the frames of one framing."""

    def rewrite(self, frame: Frame, payload: Json, name: str | None = None) -> Frame:
        """`frame` with other data. The rest of its bytes stays. `name`: another SSE event name."""
        ...

    def make(self, payload: Json, number: int, name: str = "") -> Frame:
        """A new frame, reported as a part of event `number`. A payload of bytes is used unchanged."""
        ...

    def ended(self, frame: Frame) -> Frame:
        """`frame` with its terminator, which the last frame of a body may lack. Another frame can follow."""
        ...


class SseWriter:
    """Makes SSE blocks with the line ends of the stream."""

    def __init__(self) -> None:
        """Lines end with LF until a frame has another end."""
        self._newline = b"\n"

    def rewrite(self, frame: Frame, payload: Json, name: str | None = None) -> Frame:
        """As `Writer.rewrite`; several data lines become one."""
        if not frame.raw.endswith(b"\n\n"):
            self._learn(frame)
        data = encoded(payload)
        old = frame.data or b""
        position = frame.raw.rfind(old) if old and b"\n" not in old else -1
        head = b"" if position < 0 else frame.raw[:position]
        if name is not None or not (head[-7:] in _USUAL or _begins_data(head)):
            return self._rebuilt(frame, data, name)
        raw = head + data + frame.raw[position + len(old) :]
        return Frame(raw, frame.number, data, frame.name, trailing=frame.trailing)

    def make(self, payload: Json, number: int, name: str = "") -> Frame:
        """As `Writer.make`."""
        data, newline = encoded(payload), self._newline
        event = b"event: " + name.encode("utf-8", "replace") + newline if name else b""
        return Frame(event + b"data: " + data + newline + newline, number, data, name)

    def ended(self, frame: Frame) -> Frame:
        """As `Writer.ended`."""
        if not frame.trailing:
            return frame
        newline = b"\r\n" if b"\r\n" in frame.raw else b"\r" if frame.raw.endswith(b"\r") else b"\n"
        raw = frame.raw if frame.raw.endswith((b"\n", b"\r")) else frame.raw + newline
        return Frame(raw + newline, frame.number, frame.data, frame.name)

    def _rebuilt(self, frame: Frame, data: bytes, name: str | None) -> Frame:
        """The block line by line: comments, id and retry stay."""
        newline = self._newline
        bom = BOM if frame.number == 0 and frame.raw.startswith(BOM) else b""
        lines, written = [], False
        if name:
            lines.append(b"event: " + name.encode("utf-8", "replace"))
        for line in frame.raw[len(bom) :].splitlines():
            field = line.partition(b":")[0]
            if field == b"data":
                if not written:
                    lines.append(b"data: " + data)
                written = True
            elif line and not (field == b"event" and name is not None):
                lines.append(line)
        if not written:
            lines.append(b"data: " + data)
        raw = bom + newline.join(lines) + newline + newline
        return Frame(raw, frame.number, data, frame.name if name is None else name)

    def _learn(self, frame: Frame) -> None:
        if frame.raw.endswith(b"\r\n"):
            self._newline = b"\r\n"
        elif frame.raw.endswith(b"\r"):
            self._newline = b"\r"


def _begins_data(head: bytes) -> bool:
    """Whether the bytes after the beginning of a block are its data line: comments may have the same text."""
    line = max(head.rfind(b"\n"), head.rfind(b"\r")) + 1
    return head[line:].removeprefix(BOM) in _BEFORE_DATA


class Unwritten(SseWriter):
    """Writes nothing: for stages of which only the findings are used."""

    def rewrite(self, frame: Frame, payload: Json, name: str | None = None) -> Frame:
        """The frame as it is."""
        del payload, name
        return frame

    def make(self, payload: Json, number: int, name: str = "") -> Frame:
        """An empty frame."""
        del payload, name
        return Frame(b"", number, None)


class LineWriter:
    """Makes JSON lines."""

    def rewrite(self, frame: Frame, payload: Json, name: str | None = None) -> Frame:
        """As `Writer.rewrite`; lines have no names."""
        del name
        data = encoded(payload)
        old = frame.data or b""
        position = frame.raw.rfind(old)
        raw = frame.raw[:position] + data + frame.raw[position + len(old) :]
        return Frame(raw, frame.number, data, trailing=frame.trailing)

    def make(self, payload: Json, number: int, name: str = "") -> Frame:
        """As `Writer.make`."""
        data = encoded(payload)
        return Frame(data + b"\n", number, data, name)

    def ended(self, frame: Frame) -> Frame:
        """As `Writer.ended`."""
        return Frame(frame.raw + b"\n", frame.number, frame.data) if frame.trailing else frame


class ArrayWriter(LineWriter):
    """Makes elements of a JSON array."""

    def ended(self, frame: Frame) -> Frame:
        """As `Writer.ended`: the comma comes with the next one."""
        return frame

    def make(self, payload: Json, number: int, name: str = "") -> Frame:
        """As `Writer.make`, for any place but the first."""
        data = encoded(payload)
        return Frame(b",\n" + data, number, data, name)


class EventStreamWriter:
    """Makes messages of an AWS event stream: new lengths, both checksums, and the wrapping that the stream has."""

    def __init__(self, framer: EventStreamFramer) -> None:
        """`framer` cuts the stream, and so knows whether its messages wrap their data."""
        self._framer = framer

    def rewrite(self, frame: Frame, payload: Json, name: str | None = None) -> Frame:
        """As `Writer.rewrite`; headers stay. A wrapped event has no name of its own."""
        data = encoded(payload)
        if name is None and frame.name != aws_event_stream.CHUNK and not frame.trailing:
            return Frame(with_payload(frame.raw, data), frame.number, data, frame.name)
        message = decode(frame.raw)
        if aws_event_stream.unwrap(message) is not None:
            if data == frame.data:
                return frame
            message = aws_event_stream.wrapping(message, data)
        elif name is None:
            message = message._replace(payload=data)
        else:
            message = aws_event_stream.named(message, name)._replace(payload=data)
        return Frame(message.encode(), frame.number, data, aws_event_stream.name_of(message))

    def make(self, payload: Json, number: int, name: str = "") -> Frame:
        """As `Writer.make`. A name that ends in `Exception` makes an exception; without one it is the first one's."""
        data = encoded(payload)
        message = aws_event_stream.fresh(data, name or self._framer.kind)
        if (self._framer.wraps or name == aws_event_stream.CHUNK) and not aws_event_stream.failed(message):
            message = aws_event_stream.chunk(data)
        return Frame(message.encode(), number, data, aws_event_stream.name_of(message))

    def ended(self, frame: Frame) -> Frame:
        """As `Writer.ended`: the missing part of a message is unknown."""
        return frame


def writer_for(framer: Framer) -> Writer | None:
    """Makes frames of `framer`'s kind; `None` for a body that is one JSON document."""
    if isinstance(framer, DocumentFramer):
        return None
    if isinstance(framer, SseFramer):
        return SseWriter()
    if isinstance(framer, EventStreamFramer):
        return EventStreamWriter(framer)
    return ArrayWriter() if isinstance(framer, ArrayFramer) else LineWriter()
