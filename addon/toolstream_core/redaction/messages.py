"""The messages of an AWS event stream without their secrets. Knows the framing, and leaves secrets to others."""

from __future__ import annotations

import base64
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from toolstream_core.wire.event_message import PRELUDE, DamageError, Message, decode, length
from toolstream_core.wire.event_stream import EventStreamFramer, unwrap

if TYPE_CHECKING:
    from toolstream_core.wire.frame import Frame

# A secret may stand in base64, where nobody finds it, and a changed byte makes a checksum wrong. So what the messages
# say is redacted as if it came as server-sent events, and is put back: of the same length, with new checksums.

_LEAD: Final = b"data: "
_END: Final = b"\n\n"


class Redactor(Protocol):
    """Redacts text as it comes, and gives as many bytes as it is fed."""

    def feed(self, data: bytes) -> bytes:
        """What is ready."""
        ...

    def finish(self) -> bytes:
        """The rest."""
        ...


class _Awaited(NamedTuple):
    """A frame whose text is being redacted."""

    frame: Frame
    text: bytes


class MessageRedactor:
    """Redacts the messages of one body; each goes on as long as it was."""

    def __init__(self, text: Redactor) -> None:
        """`text` redacts what the messages say."""
        self._text = text
        self._framer = EventStreamFramer()
        self._awaited: deque[_Awaited] = deque()
        self._clean = bytearray()

    def feed(self, data: bytes) -> bytes:
        """What is ready of all that was fed."""
        return self._take(self._framer.feed(data)) if data else b""

    def finish(self) -> bytes:
        """The rest."""
        out = self._take(self._framer.feed(b""))
        self._clean += self._text.finish()
        return out + self._ready()

    def _take(self, frames: list[Frame]) -> bytes:
        for frame in frames:
            text = _said(frame)
            self._awaited.append(_Awaited(frame, text))
            self._clean += self._text.feed(_LEAD + text + _END)
        return self._ready()

    def _ready(self) -> bytes:
        out: list[bytes] = []
        begin = len(_LEAD)
        while self._awaited and len(self._clean) >= begin + len(self._awaited[0].text) + len(_END):
            frame, text = self._awaited.popleft()
            clean = bytes(self._clean[begin : begin + len(text)])
            del self._clean[: begin + len(text) + len(_END)]
            out.append(frame.raw if clean == text else _with(frame, text, clean))
        return b"".join(out)


def is_messages(head: bytes) -> bool:
    """Whether a body that begins so is an AWS event stream."""
    try:
        return len(head) >= PRELUDE and bool(length(head[:PRELUDE]))
    except DamageError:
        return False


def is_message_begun(head: bytes) -> bool:
    """Whether more bytes have to tell."""
    return len(head) < PRELUDE and (not head or head.startswith(b"\0"))


def _message(frame: Frame) -> Message | None:
    return decode(frame.raw) if frame.name or frame.data is not None else None


def _said(frame: Frame) -> bytes:
    """What of a frame may be a secret: a message's text, or all of what is none."""
    message = _message(frame)
    if message is None:
        return frame.raw
    inner = unwrap(message)
    if inner is not None:
        return inner
    return message.payload or message.text(":error-message").encode("utf-8", "surrogateescape")


def _with(frame: Frame, text: bytes, clean: bytes) -> bytes:
    """The frame's bytes with its text redacted."""
    message = _message(frame)
    if message is None:
        return clean
    if unwrap(message) is not None:
        payload = message.payload.replace(base64.b64encode(text), base64.b64encode(clean))
        return message._replace(payload=payload).encode()
    if message.payload:
        return message._replace(payload=clean).encode()
    said = clean.decode("utf-8", "surrogateescape")
    headers = tuple(
        header._replace(value=said) if header.name == ":error-message" else header for header in message.headers
    )
    return message._replace(headers=headers).encode()
