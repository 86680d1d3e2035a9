"""One message of an AWS event stream: lengths, headers, payload, checksums. Knows bytes, and no service.

https://smithy.io/2.0/aws/amazon-eventstream.html
"""

# All integers are big-endian. A message is
#
#     prelude (12 bytes)   total length, headers length, CRC-32 of these two
#     headers              each: name length (1 byte), name, type (1 byte), value
#     payload
#     CRC-32 (4 bytes)     of everything before it
#
# so the shortest one has 16 bytes.

from __future__ import annotations

import enum
from functools import lru_cache
from typing import Final, NamedTuple
from zlib import crc32

PRELUDE: Final = 12
"""Bytes that say how long a message is."""
MAX_HEADERS: Final = 128 * 1024
"""Bytes of headers that the encoding allows."""
_CRC: Final = 4


class DamageError(ValueError):
    """The bytes are not a message; the text says which part is wrong."""


class HeaderType(enum.IntEnum):
    """What a header's value is, by the number that stands before it."""

    TRUE = 0
    FALSE = 1
    BYTE = 2
    SHORT = 3
    INTEGER = 4
    LONG = 5
    BYTES = 6
    STRING = 7
    TIMESTAMP = 8
    """Milliseconds since 1970."""
    UUID = 9
    """16 bytes."""


_WIDTHS: Final = {
    HeaderType.BYTE: 1,
    HeaderType.SHORT: 2,
    HeaderType.INTEGER: 4,
    HeaderType.LONG: 8,
    HeaderType.TIMESTAMP: 8,
}
"""Bytes of each signed integer."""


class Header(NamedTuple):
    """A header. `value` is of the Python type that fits `type`; text that is not UTF-8 survives as surrogates."""

    name: str
    type: HeaderType
    value: bool | int | bytes | str

    def encode(self) -> bytes:
        """Its bytes. Raises `OverflowError` where the value does not fit its type."""
        name = self.name.encode("utf-8", "surrogateescape")
        return len(name).to_bytes(1) + name + bytes([self.type]) + self._value()

    def _value(self) -> bytes:
        value = self.value
        if isinstance(value, str):
            value = value.encode("utf-8", "surrogateescape")
        if isinstance(value, bytes):
            return value if self.type is HeaderType.UUID else len(value).to_bytes(2) + value
        width = _WIDTHS.get(self.type)
        return value.to_bytes(width, signed=True) if width else b""


class Message(NamedTuple):
    """A message's headers, in their order, and its payload."""

    headers: tuple[Header, ...]
    payload: bytes

    def text(self, name: str) -> str:
        """The value of the string header `name`, `""` where there is none."""
        for header in self.headers:
            if header.name == name and isinstance(header.value, str):
                return header.value
        return ""

    def encode(self) -> bytes:
        """Its bytes, with lengths and checksums."""
        headers = b"".join([header.encode() for header in self.headers])
        total = PRELUDE + len(headers) + len(self.payload) + _CRC
        lengths = total.to_bytes(4) + len(headers).to_bytes(4)
        said = lengths + crc32(lengths).to_bytes(4) + headers + self.payload
        return said + crc32(said).to_bytes(4)


def length(prelude: bytes) -> int:
    """The total length, in bytes, of the message that begins with `prelude` (`PRELUDE` bytes).

    Raises `DamageError` where its checksum or its lengths are wrong: nobody can tell then where the next one begins.
    """
    if crc32(prelude[:8]) != int.from_bytes(prelude[8:PRELUDE]):
        raise DamageError("the checksum of a message's prelude is wrong")
    total, headers = int.from_bytes(prelude[:4]), int.from_bytes(prelude[4:8])
    if headers > min(MAX_HEADERS, total - PRELUDE - _CRC):
        raise DamageError(f"a message of {total} bytes cannot have {headers} bytes of headers")
    return total


def decode(raw: bytes) -> Message:
    """The message that `raw` is, all of it. Raises `DamageError` where it is not one."""
    if len(raw) < PRELUDE + _CRC or length(raw[:PRELUDE]) != len(raw):
        raise DamageError("a message is incomplete")
    if crc32(memoryview(raw)[:-_CRC]) != int.from_bytes(raw[-_CRC:]):
        raise DamageError("the checksum of a message is wrong")
    begin = PRELUDE + int.from_bytes(raw[4:8])
    return Message(_headers(raw[PRELUDE:begin]), raw[begin:-_CRC])


def with_payload(raw: bytes, payload: bytes) -> bytes:
    """The bytes of a whole message with another payload, its headers as they are."""
    begin = PRELUDE + int.from_bytes(raw[4:8])
    lengths = (begin + len(payload) + _CRC).to_bytes(4) + raw[4:8]
    said = lengths + crc32(lengths).to_bytes(4) + raw[PRELUDE:begin] + payload
    return said + crc32(said).to_bytes(4)


class _Block:
    """The header block, taken piece by piece."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def take(self, size: int) -> bytes:
        piece = self._data[self._at : self._at + size]
        if len(piece) < size:
            raise DamageError("the headers of a message are incomplete")
        self._at += size
        return piece

    def sized(self, width: int) -> bytes:
        """A piece that follows its length."""
        return self.take(int.from_bytes(self.take(width)))


@lru_cache(maxsize=32)
def _headers(block: bytes) -> tuple[Header, ...]:
    """The headers of a block. Most messages of a stream have one of a few blocks."""
    left, headers = _Block(block), []
    while left:
        name = left.sized(1).decode("utf-8", "surrogateescape")
        number = left.take(1)[0]
        if number not in HeaderType:
            raise DamageError(f"a message header has the unknown type {number}")
        kind = HeaderType(number)
        headers.append(Header(name, kind, _value(kind, left)))
    return tuple(headers)


def _value(kind: HeaderType, left: _Block) -> bool | int | bytes | str:
    match kind:
        case HeaderType.TRUE | HeaderType.FALSE:
            return kind is HeaderType.TRUE
        case HeaderType.BYTES:
            return left.sized(2)
        case HeaderType.STRING:
            return left.sized(2).decode("utf-8", "surrogateescape")
        case HeaderType.UUID:
            return left.take(16)
    return int.from_bytes(left.take(_WIDTHS[kind]), signed=True)
