"""Messages of an AWS event stream: all types of headers, lengths, checksums, damage."""

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
    STRING,
    DamageError,
    Header,
    Message,
    decode,
    length,
)

ALL_TYPES: dict[str, tuple[int, bytes, Any]] = {
    "yes": (0, b"", True),
    "no": (1, b"", False),
    "byte": (2, b"\x80", -128),
    "short": (3, b"\xff\xfe", -2),
    "integer": (4, b"\x7f\xff\xff\xff", 2**31 - 1),
    "long": (5, b"\x80" + bytes(7), -(2**63)),
    "bytes": (6, b"\0\xff", b"\0\xff"),
    ":event-type": (STRING, b"contentBlockDelta", "contentBlockDelta"),
    "when": (8, (1_700_000_000_000).to_bytes(8), 1_700_000_000_000),
    "uuid": (9, bytes(range(16)), bytes(range(16))),
}
"""Type, bytes and value of a header with this name."""

# The encoding's published example: a message without headers and payload.
EMPTY = bytes.fromhex("000000100000000005c248eb7d98c8ff")


SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
VALUES = st.one_of(
    *(st.tuples(st.just(kind), st.binary(min_size=size, max_size=size)) for kind, size in SIZES.items()),
    st.tuples(st.sampled_from([6, STRING]), st.binary(max_size=20)),
)
HEADERS = st.dictionaries(st.text(string.printable, min_size=1, max_size=9), VALUES, max_size=4)
MESSAGES = st.builds(
    lambda headers, payload: Message(tuple(Header(name, *value) for name, value in headers.items()), payload),
    HEADERS,
    st.binary(max_size=40),
)


def test_the_shortest_message() -> None:
    """A message without headers and payload is encoded as the specification's example."""
    assert decode(EMPTY) == Message((), b"")
    assert Message((), b"").encode() == EMPTY


def test_botocore_reads_every_type_of_header() -> None:
    """All ten types have the same value in botocore."""
    message = Message(tuple(Header(name, *one[:2]) for name, one in ALL_TYPES.items()), b'{"a":1}')
    raw = message.encode()
    assert decode(raw) == message
    reader = EventStreamBuffer()
    reader.add_data(raw)
    read = next(reader)
    assert (read.headers, read.payload) == ({name: one[2] for name, one in ALL_TYPES.items()}, b'{"a":1}')


@given(MESSAGES)
def test_encoded_messages_are_decoded(message: Message) -> None:
    """The prelude contains the length."""
    raw = message.encode()
    assert decode(raw) == message
    assert length(raw[:PRELUDE]) == len(raw)


@given(MESSAGES, st.data())
def test_every_flipped_bit_is_found(message: Message, data: st.DataObject) -> None:
    """Any changed bit is an error."""
    raw = bytearray(message.encode())
    bit = data.draw(st.integers(0, 8 * len(raw) - 1))
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(DamageError):
        decode(bytes(raw))


@pytest.mark.parametrize(
    ("name", "value"), [(b"\xff", b"\x07\0\x01\xfe"), (b":event-type", b"\x07\0\x02\xed\xa0"), (b"a" * 255, b"\0")]
)
def test_names_and_values_that_are_not_utf_8(name: bytes, value: bytes) -> None:
    """They stay byte for byte."""
    raw = with_headers(bytes([len(name)]) + name + value)
    assert decode(raw).encode() == raw


def with_headers(block: bytes) -> bytes:
    """A message with these header bytes and valid checksums."""
    start = prelude(PRELUDE + len(block) + 4, len(block)) + block
    return start + crc32(start).to_bytes(4)


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
def test_invalid_headers(block: bytes, why: str) -> None:
    """They are an error although the checksums are valid."""
    with pytest.raises(DamageError, match=why):
        decode(with_headers(block))


@pytest.mark.parametrize(("total", "headers"), [(15, 0), (16, 1), (0, 0), (20, 5), (2**31, MAX_HEADERS + 1)])
def test_impossible_lengths(total: int, headers: int) -> None:
    """They are an error although their checksum is valid."""
    with pytest.raises(DamageError, match="cannot have"):
        length(prelude(total, headers))


@pytest.mark.parametrize("raw", [b"", EMPTY[:-1], EMPTY + b"\0", EMPTY * 2])
def test_bytes_of_another_length(raw: bytes) -> None:
    """An incomplete message, and bytes after a message, are an error."""
    with pytest.raises(DamageError):
        decode(raw)


@pytest.mark.parametrize(
    "header",
    [
        Header("a" * 256, STRING, b""),
        Header("a", STRING, b"a" * 65536),
    ],
)
def test_a_value_that_does_not_fit(header: Header) -> None:
    """The length of names and values is limited."""
    with pytest.raises(OverflowError):
        header.encode()
