"""The framing of a body, by content type and first bytes, and its content coding. Knows no protocol and no host."""

from __future__ import annotations

import enum
import re
from typing import Final

from toolstream_core.wire.aws_event_stream import MESSAGES, PRELUDE, DamageError, EventStreamFramer, length
from toolstream_core.wire.coding import CodingError, Decoder
from toolstream_core.wire.frame import Frame, Framer, parse
from toolstream_core.wire.json_framings import ArrayFramer, DocumentFramer, LineFramer
from toolstream_core.wire.sse import BOM, SseFramer

MAX_HEAD = 64 * 1024
"""Bytes after which `choose` always decides."""


class NotOurs(enum.Enum):
    """The type of `NOT_OURS`: a result narrows under `is`."""

    NOT_OURS = "not ours"


NOT_OURS: Final = NotOurs.NOT_OURS
"""No framing that could carry an LLM's response."""

type _Choice = type[SseFramer | LineFramer | ArrayFramer | DocumentFramer | EventStreamFramer] | NotOurs | None

_LABELS: dict[str, _Choice] = {
    "text/event-stream": SseFramer,
    "application/x-ndjson": LineFramer,
    "application/ndjson": LineFramer,
    "application/jsonl": LineFramer,
    "application/x-jsonl": LineFramer,
    "application/jsonlines": LineFramer,
    "application/x-jsonlines": LineFramer,
    "application/x-json-stream": LineFramer,
    "application/stream+json": LineFramer,
    "application/json": DocumentFramer,
    "text/json": DocumentFramer,
    MESSAGES: EventStreamFramer,
    "application/pdf": NOT_OURS,
    "application/zip": NOT_OURS,
}
"""The framing that a content type names; for JSON, the body may be an array of events too."""
_FOREIGN = ("image/", "audio/", "video/", "font/", "multipart/", "application/grpc")
_FIELD = re.compile(rb"[\r\n]*+(?:(?:data|event|id|retry)[:\r\n]|:)")
_FIELDS = (b"data:", b"event:", b"id:", b"retry:")


def choose(content_type: str, head: bytes, *, ended: bool = False) -> Framer | NotOurs | None:
    """The framing of a body that begins with `head`, all bytes so far; the caller feeds them to it.

    The content type decides if the bytes leave it open; the first bytes that are not blank correct a wrong one.
    `None`: more bytes are needed; never from `MAX_HEAD` bytes on, nor if the body has `ended`. More bytes never
    change the result.
    """
    label = _label(content_type)
    if label is NOT_OURS:
        return NOT_OURS
    head = head[:MAX_HEAD]
    lead = b"" if BOM.startswith(head) else head.removeprefix(BOM)
    choice = _look(label, lead)
    if choice is None and (ended or len(head) == MAX_HEAD):
        document = label is not LineFramer and lead.lstrip().startswith(b"{")
        choice = DocumentFramer if document else label or NOT_OURS
    return choice() if isinstance(choice, type) else choice


def announces_stream(content_type: str) -> bool:
    """Whether a content type names a framing of several events."""
    return _label(content_type) in {SseFramer, LineFramer, EventStreamFramer}


def _label(content_type: str) -> _Choice:
    """The framing that a content type names; `None` if there is none, or it is not reliable."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind.startswith(_FOREIGN):
        return NOT_OURS
    return _LABELS.get(kind, DocumentFramer if kind.endswith("+json") else None)


def _look(label: _Choice, lead: bytes) -> _Choice:
    if _FIELD.match(lead):
        return SseFramer
    if lead.startswith(b"\0") and label in {EventStreamFramer, None}:
        return _message(label, lead)
    text = lead.lstrip()
    if not text:
        return None
    if text.startswith(b"{"):
        return _object(label, text)
    if text.startswith(b"["):
        return _array(label, text)
    if label is not SseFramer and _may_be_field(lead):
        return None
    return label or NOT_OURS


def _message(label: _Choice, lead: bytes) -> _Choice:
    """The framing of a binary body: by lengths and their checksum; no message has 16 MiB."""
    if len(lead) < PRELUDE:
        return None
    try:
        length(lead[:PRELUDE])
    except DamageError:
        return label or NOT_OURS
    return EventStreamFramer


def _object(label: _Choice, text: bytes) -> _Choice:
    """The framing of a body that begins with an object: a document, or lines if a second one follows."""
    line, end, rest = text.partition(b"\n")
    if not end:
        return None
    if not isinstance(parse(line), dict):
        pretty = line.strip() == b"{" or label is not LineFramer
        return DocumentFramer if pretty else LineFramer
    if label is LineFramer:
        return LineFramer
    if _FIELD.match(rest):
        return SseFramer
    return None if not rest.strip() or _may_be_field(rest) else LineFramer


def _array(label: _Choice, text: bytes) -> _Choice:
    if label is LineFramer:
        return LineFramer
    if label is DocumentFramer:
        return ArrayFramer
    inner = text[1:].lstrip()[:1]
    if not inner:
        return None
    return ArrayFramer if inner in {b"{", b"]"} else label or NOT_OURS


def _may_be_field(text: bytes) -> bool:
    """Whether more bytes could still make this the first field of an event stream."""
    begun = text.lstrip(b"\r\n")
    return any(field.startswith(begun) for field in _FIELDS)


class BodyDecoder:
    """Decodes the bytes of one body."""

    def __init__(self, coding: str) -> None:
        """`coding` is the value of the `Content-Encoding` header, or `""`."""
        self.failure: str | None = None
        """The reason if the bytes cannot be decoded."""
        self._decoder: Decoder | None = None
        if coding:
            try:
                self._decoder = Decoder(coding)
            except CodingError as error:
                self.failure = str(error)

    @property
    def coded(self) -> bool:
        """Whether there is a coding to undo."""
        return self._decoder is not None

    def decode(self, chunk: bytes) -> bytes:
        """The decoded bytes of `chunk`, `b""` being the end.

        None if the bytes are wrong: `failure` is the reason then. Bytes of an unknown coding stay as they are.
        """
        if self._decoder is None:
            return chunk
        try:
            return self._decoder.decode(chunk)
        except CodingError as error:
            self.failure = str(error)
            return b""


class BodyFraming:
    """Keeps the first decoded bytes of a body until they show its framing."""

    def __init__(self, content_type: str) -> None:
        """`content_type` is the value of the header, or `""`."""
        self._content_type = content_type
        self.framer: Framer | None = None
        """Splits the body. `None` until the framing is known."""
        self.foreign = False
        """Whether the body is in no framing that could carry an LLM's response."""
        self.head = b""
        """The bytes received before the framing was known."""

    def open(self, data: bytes, *, ended: bool = False) -> bytes:
        """Take the next bytes; return those that the framer cuts: all so far once it is known, none before.

        `ended`: no more bytes come.
        """
        self.head += data
        chosen = choose(self._content_type, self.head, ended=ended)
        if chosen is None:
            return b""
        if chosen is NOT_OURS:
            self.foreign = True
            return b""
        self.framer = chosen
        head, self.head = self.head, b""
        return head

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that the next bytes complete; none before the framing is known, or for an unknown framing."""
        if self.framer is None:
            data = b"" if self.foreign else self.open(data)
        return self.framer.feed(data) if self.framer is not None and data else []

    def end(self) -> list[Frame]:
        """The last frames; none for an unknown framing."""
        head = self.open(b"", ended=True) if self.framer is None else b""
        if self.framer is None:
            return []
        return [*(self.framer.feed(head) if head else ()), *self.framer.feed(b"")]

    def cut(self, body: bytes) -> list[Frame]:
        """The frames of a complete body."""
        return [*self.feed(body), *self.end()]
