"""One message of an AWS event stream: lengths, headers, payload, checksums. Knows bytes, and no service.

https://smithy.io/2.0/aws/amazon-eventstream.html
"""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache
from io import BytesIO
from typing import Final, NamedTuple
from zlib import crc32

from toolstream_core.wire import numbers
from toolstream_core.wire.frame import CONTENT_TYPES, MAX_FRAME, DamagedFrame, Form, Frame, Framer, parse
from toolstream_core.wire.json_value import Json

# All integers are big-endian. A message is
#
#     prelude (12 bytes)   total length, headers length, CRC-32 of these two
#     headers              each: name length (1 byte), name, type (1 byte), value
#     payload
#     CRC-32 (4 bytes)     of everything before it
#
# so the shortest one has 16 bytes.


PRELUDE: Final = 12
"""Bytes of a message's length."""
MAX_HEADERS: Final = 128 * 1024
"""Bytes of headers that the encoding allows."""
_CRC: Final = 4


class DamageError(ValueError):
    """The bytes are not a message; the text names the wrong part."""


STRING: Final = 7
"""The type of a header whose value is text."""
_BYTES: Final = 6
_SIZES: Final = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type: true, false, integers, a time, a UUID. Bytes and text have their length."""


class Header(NamedTuple):
    """A header. The bytes of its value are kept as they are; a name that is not UTF-8 survives as surrogates."""

    name: str
    type: int
    value: bytes

    @property
    def text(self) -> str:
        """The value of a header with text, `""` of any other."""
        return self.value.decode("utf-8", "surrogateescape") if self.type == STRING else ""

    def encode(self) -> bytes:
        """Its bytes. Raises `OverflowError` if the name or the value is too long."""
        name = self.name.encode("utf-8", "surrogateescape")
        length = b"" if self.type in _SIZES else len(self.value).to_bytes(2)
        return len(name).to_bytes(1) + name + bytes([self.type]) + length + self.value


class Message(NamedTuple):
    """A message's headers, in their order, and its payload."""

    headers: tuple[Header, ...]
    payload: bytes

    def text(self, name: str) -> str:
        """The value of the string header `name`, or `""`."""
        return next((header.text for header in self.headers if header.name == name and header.type == STRING), "")

    def encode(self) -> bytes:
        """Its bytes, with lengths and checksums."""
        headers = b"".join([header.encode() for header in self.headers])
        total = PRELUDE + len(headers) + len(self.payload) + _CRC
        lengths = total.to_bytes(4) + len(headers).to_bytes(4)
        signed = lengths + crc32(lengths).to_bytes(4) + headers + self.payload
        return signed + crc32(signed).to_bytes(4)


def length(prelude: bytes) -> int:
    """The total length, in bytes, of the message that begins with `prelude` (`PRELUDE` bytes).

    Raises `DamageError` if its checksum or its lengths are wrong: the beginning of the next one is unknown then.
    """
    if crc32(prelude[:8]) != int.from_bytes(prelude[8:PRELUDE]):
        raise DamageError("the checksum of a message's prelude is wrong")
    total, headers = int.from_bytes(prelude[:4]), int.from_bytes(prelude[4:8])
    if headers > min(MAX_HEADERS, total - PRELUDE - _CRC):
        raise DamageError(f"a message of {total} bytes cannot have {headers} bytes of headers")
    return total


def decode(raw: bytes) -> Message:
    """The message in `raw`. Raises `DamageError` if `raw` is not exactly one message."""
    if len(raw) < PRELUDE + _CRC or length(raw[:PRELUDE]) != len(raw):
        raise DamageError("a message is incomplete")
    if crc32(memoryview(raw)[:-_CRC]) != int.from_bytes(raw[-_CRC:]):
        raise DamageError("the checksum of a message is wrong")
    begin = PRELUDE + int.from_bytes(raw[4:8])
    return Message(_headers(raw[PRELUDE:begin]), raw[begin:-_CRC])


def with_payload(raw: bytes, payload: bytes) -> bytes:
    """The bytes of a complete message with another payload, its headers as they are."""
    begin = PRELUDE + int.from_bytes(raw[4:8])
    lengths = (begin + len(payload) + _CRC).to_bytes(4) + raw[4:8]
    signed = lengths + crc32(lengths).to_bytes(4) + raw[PRELUDE:begin] + payload
    return signed + crc32(signed).to_bytes(4)


@lru_cache(maxsize=32)
def _headers(block: bytes) -> tuple[Header, ...]:
    """The headers of a block. Most messages of a stream have one of a few blocks."""
    left, headers = BytesIO(block), []
    while size := left.read(1):
        name = _taken(left, size[0]).decode("utf-8", "surrogateescape")
        kind = _taken(left, 1)[0]
        if kind not in _SIZES and kind not in {_BYTES, STRING}:
            raise DamageError(f"a message header has the unknown type {kind}")
        width = _SIZES[kind] if kind in _SIZES else int.from_bytes(_taken(left, 2))
        headers.append(Header(name, kind, _taken(left, width)))
    return tuple(headers)


def _taken(left: BytesIO, size: int) -> bytes:
    if len(data := left.read(size)) < size:
        raise DamageError("the headers of a message are incomplete")
    return data


# What a frame shows of its message:
#
# | `:message-type` | `name`                        | `data`                                                           |
# |-----------------|-------------------------------|------------------------------------------------------------------|
# | `event`         | `:event-type`                 | the payload; of a `chunk`, the bytes that its JSON has as base64 |
# | `exception`     | `:exception-type`             | the payload                                                      |
# | `error`         | `:error-code`                 | the payload; without one, `{"message": …}` of `:error-message`   |
#
# In a `chunk`, a service streams the bytes of another API's response. With Bedrock's InvokeModelWithResponseStream and
# Anthropic's models, they are the events of Anthropic's API. The frame has only these bytes, and
# `write.EventStreamWriter` wraps them again.
#
# A message with a wrong checksum is forwarded unread, and the next one is read, because its prelude has its own
# checksum. If a prelude's checksum or lengths are wrong, everything from there on is forwarded unread.


MESSAGES: Final = CONTENT_TYPES[Form.MESSAGES]
"""The content type."""
CHUNK: Final = "chunk"
_WRAPPED: Final = "bytes"
_EXCEPTION: Final = "exception"
_NAMES: Final = {_EXCEPTION: ":exception-type", "error": ":error-code"}
"""The header with a message's name, by `:message-type`; every other message is an event."""


class EventStreamFramer(Framer):
    """Splits an AWS event stream into its messages.

    A message that the body's end cuts off is a frame without data, marked `trailing`.
    """

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        """Messages over `max_frame` bytes are forwarded unread."""
        super().__init__(max_frame)
        self.wraps = False
        """Whether the stream's first event wraps bytes in JSON. New events do the same."""
        self.kind = ""
        """The name of the stream's first event."""
        self._begun = False
        self._prelude = b""
        self._left = 0
        """Number of bytes that the open message still lacks after its prelude."""
        self._lost = ""
        """The reason why the end of a message is unknown."""

    def _seek(self, chunk: bytes, position: int) -> int:
        if self._lost:
            return -1
        if not self._left:
            head = chunk[position : position + PRELUDE - len(self._prelude)]
            self._prelude += head
            position += len(head)
            if not self._begin():
                return -1
        end = position + self._left
        self._left = max(end - len(chunk), 0)
        return -1 if self._left else end

    def _begin(self) -> bool:
        """Whether the prelude is there, and right: so many bytes are awaited then."""
        if len(self._prelude) < PRELUDE:
            return False
        prelude, self._prelude = self._prelude, b""
        try:
            self._left = length(prelude) - PRELUDE
        except DamageError as error:
            self._lost = f"{error}; the rest cannot be read"
        return not self._lost

    def _keep(self, message: bytes, frames: list[Frame]) -> None:
        if self._lost:
            frames.append(DamagedFrame(self._release(message), self._number, self._lost))
        else:
            super()._keep(message, frames)

    def _read(self, raw: bytes, *, trailing: bool) -> Frame:
        if trailing:
            return Frame(raw, self._number, None, trailing=True)
        try:
            message = decode(raw)
        except DamageError as error:
            return DamagedFrame(raw, self._number, str(error))
        name = name_of(message)
        inner = unwrap(message) if name == CHUNK else None
        if not self._begun and not failed(message):
            self._begun, self.wraps, self.kind = True, inner is not None, name
        data = message.payload or _data(message)
        return Frame(raw, self._number, data if inner is None else inner, name)

    def _numbered(self, frame: Frame) -> Frame:
        if frame.data is not None or isinstance(frame, DamagedFrame):
            self._number += 1
        return frame


def name_of(message: Message) -> str:
    """The kind of event, exception or error of a message; `""` if it has none."""
    return _name_in(message.headers)


@lru_cache(maxsize=32)
def _name_in(headers: tuple[Header, ...]) -> str:
    """The name that headers give. Most messages of a stream have those of a few others."""
    message = Message(headers, b"")
    return message.text(_NAMES.get(message.text(":message-type"), ":event-type"))


def failed(message: Message) -> bool:
    """Whether a message is an exception or an error."""
    return message.text(":message-type") in _NAMES


def _data(message: Message) -> bytes | None:
    """The substitute for the payload of a message that has none."""
    if not failed(message):
        return None
    return numbers.dumps({"message": message.text(":error-message")}, ascii_only=True).encode()


def unwrap(message: Message) -> bytes | None:
    """The bytes that a `chunk` wraps; `None` for other messages."""
    wrapped = _members(message).get(_WRAPPED)
    try:
        return base64.b64decode(wrapped, validate=True) if isinstance(wrapped, str) else None
    except binascii.Error:
        return None


def _members(message: Message) -> dict[str, Json]:
    payload = parse(message.payload) if name_of(message) == CHUNK else None
    return payload if isinstance(payload, dict) else {}


def wrapping(message: Message, inner: bytes) -> Message:
    """A `chunk` with other bytes. The other fields of its JSON stay."""
    payload = {**_members(message), _WRAPPED: base64.b64encode(inner).decode()}
    return message._replace(payload=numbers.dumps(payload, ascii_only=True).encode())


def named(message: Message, name: str) -> Message:
    """The message as an event with another name."""
    headers = [
        _text_header(header.name, name) if header.name == ":event-type" else header for header in message.headers
    ]
    return message._replace(headers=tuple(headers))


def _text_header(name: str, text: str) -> Header:
    return Header(name, STRING, text.encode("utf-8", "surrogateescape"))


def chunk(inner: bytes) -> Message:
    """A new `chunk` that wraps these bytes."""
    return wrapping(fresh(b"", CHUNK), inner)


def fresh(payload: bytes, name: str) -> Message:
    """A message with JSON. It is an exception if its name ends like those of the services' exceptions."""
    kind = _EXCEPTION if name.endswith("Exception") else "event"
    headers = {_NAMES.get(kind, ":event-type"): name, ":content-type": "application/json", ":message-type": kind}
    return Message(tuple(_text_header(*header) for header in headers.items()), payload)
