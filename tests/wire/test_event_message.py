"""Messages of an AWS event stream: every type of header, lengths, checksums, damage."""

from __future__ import annotations

import string
from typing import Any
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.wire.aws_event_stream import (
    MAX_HEADERS,
    PRELUDE,
    DamageError,
    Header,
    HeaderType,
    Message,
    decode,
    length,
)

ALL_TYPES = (
    Header("yes", HeaderType.TRUE, value=True),
    Header("no", HeaderType.FALSE, value=False),
    Header("byte", HeaderType.BYTE, -128),
    Header("short", HeaderType.SHORT, -2),
    Header("integer", HeaderType.INTEGER, 2**31 - 1),
    Header("long", HeaderType.LONG, -(2**63)),
    Header("bytes", HeaderType.BYTES, b"\0\xff"),
    Header(":event-type", HeaderType.STRING, "contentBlockDelta"),
    Header("when", HeaderType.TIMESTAMP, 1_700_000_000_000),
    Header("uuid", HeaderType.UUID, bytes(range(16))),
)

# The encoding's published example: a message without headers and payload.
EMPTY = bytes.fromhex("000000100000000005c248eb7d98c8ff")


def integers(kind: HeaderType, bits: int) -> st.SearchStrategy[tuple[HeaderType, Any]]:
    """Signed ones, of all sizes that fit."""
    return st.tuples(st.just(kind), st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))


VALUES = st.one_of(
    st.sampled_from([(HeaderType.TRUE, True), (HeaderType.FALSE, False)]),
    integers(HeaderType.BYTE, 8),
    integers(HeaderType.SHORT, 16),
    integers(HeaderType.INTEGER, 32),
    integers(HeaderType.LONG, 64),
    integers(HeaderType.TIMESTAMP, 64),
    st.tuples(st.just(HeaderType.BYTES), st.binary(max_size=20)),
    st.tuples(st.just(HeaderType.STRING), st.text(max_size=20)),
    st.tuples(st.just(HeaderType.UUID), st.binary(min_size=16, max_size=16)),
)
HEADERS = st.dictionaries(st.text(string.printable, min_size=1, max_size=9), VALUES, max_size=4)
MESSAGES = st.builds(
    lambda headers, payload: Message(tuple(Header(name, *value) for name, value in headers.items()), payload),
    HEADERS,
    st.binary(max_size=40),
)


def test_the_shortest_message() -> None:
    """It has neither headers nor a payload."""
    assert decode(EMPTY) == Message((), b"")
    assert Message((), b"").encode() == EMPTY


def test_every_type_of_header_as_botocore_reads_it() -> None:
    """All ten."""
    raw = Message(ALL_TYPES, b'{"a":1}').encode()
    assert decode(raw) == Message(ALL_TYPES, b'{"a":1}')
    reader = EventStreamBuffer()
    reader.add_data(raw)
    read = next(reader)
    assert (read.headers, read.payload) == ({header.name: header.value for header in ALL_TYPES}, b'{"a":1}')


@given(MESSAGES)
def test_what_is_written_is_read(message: Message) -> None:
    """And its prelude says its length."""
    raw = message.encode()
    assert decode(raw) == message
    assert length(raw[:PRELUDE]) == len(raw)


@given(MESSAGES, st.data())
def test_every_flipped_bit_is_found(message: Message, data: st.DataObject) -> None:
    """Wherever it is."""
    raw = bytearray(message.encode())
    bit = data.draw(st.integers(0, 8 * len(raw) - 1))
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(DamageError):
        decode(bytes(raw))


@pytest.mark.parametrize(
    ("name", "value"), [(b"\xff", b"\x07\0\x01\xfe"), (b":event-type", b"\x07\0\x02\xed\xa0"), (b"a" * 255, b"\0")]
)
def test_names_and_text_that_are_not_utf_8_survive(name: bytes, value: bytes) -> None:
    """Byte for byte."""
    raw = with_headers(bytes([len(name)]) + name + value)
    assert decode(raw).encode() == raw


def with_headers(block: bytes) -> bytes:
    """A message with these header bytes, and sound checksums."""
    said = prelude(PRELUDE + len(block) + 4, len(block)) + block
    return said + crc32(said).to_bytes(4)


def prelude(total: int, headers: int) -> bytes:
    """The first bytes of a message, with their checksum."""
    lengths = total.to_bytes(4) + headers.to_bytes(4)
    return lengths + crc32(lengths).to_bytes(4)


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (b"\x01a\x0a", "unknown type 10"),
        (b"\x01a\x07\0\x05abc", "incomplete"),
        (b"\x05a", "incomplete"),
        (b"\x01a", "incomplete"),
        (b"\x01a\x04\0\0", "incomplete"),
    ],
)
def test_headers_that_cannot_be_read(block: bytes, why: str) -> None:
    """Although both checksums are right."""
    with pytest.raises(DamageError, match=why):
        decode(with_headers(block))


@pytest.mark.parametrize(("total", "headers"), [(15, 0), (16, 1), (0, 0), (20, 5), (2**31, MAX_HEADERS + 1)])
def test_lengths_that_cannot_be(total: int, headers: int) -> None:
    """Although their checksum is right."""
    with pytest.raises(DamageError, match="cannot have"):
        length(prelude(total, headers))


@pytest.mark.parametrize("raw", [b"", EMPTY[:-1], EMPTY + b"\0", EMPTY * 2])
def test_more_or_less_than_a_message(raw: bytes) -> None:
    """Neither is one."""
    with pytest.raises(DamageError):
        decode(raw)


@pytest.mark.parametrize(
    "header",
    [
        Header("a" * 256, HeaderType.STRING, ""),
        Header("a", HeaderType.STRING, "a" * 65536),
        Header("a", HeaderType.BYTE, 128),
        Header("a", HeaderType.LONG, 2**63),
    ],
)
def test_a_value_that_does_not_fit(header: Header) -> None:
    """Names and values have limits."""
    with pytest.raises(OverflowError):
        header.encode()
