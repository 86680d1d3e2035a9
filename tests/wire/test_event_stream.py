"""AWS event streams: names and data, chunk boundaries, damage, the size limit, and new messages."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.splits import all_splits, read, same_for_all_splits, split_at, split_places
from toolstream_core.wire.aws_event_stream import STRING, EventStreamFramer, Header, Message, decode, failed, fresh
from toolstream_core.wire.frame import DamagedFrame
from toolstream_core.wire.write import EventStreamWriter, writer_for

if TYPE_CHECKING:
    from pathlib import Path

START = fresh(b'{"role":"assistant"}', "messageStart").encode()
STOP = fresh(b'{"stopReason":"tool_use"}', "messageStop").encode()
THROTTLED = fresh(b'{"message":"slow down"}', "throttlingException").encode()


def chunk(inner: bytes, **others: str) -> bytes:
    """A message that contains these bytes in base64."""
    return fresh(json.dumps({"bytes": base64.b64encode(inner).decode(), **others}).encode(), "chunk").encode()


def message(headers: dict[str, str], payload: bytes = b"") -> bytes:
    """A message with these headers."""
    return Message(tuple(Header(name, STRING, value.encode()) for name, value in headers.items()), payload).encode()


def read_by_botocore(body: bytes) -> list[Any]:
    """The messages as botocore decodes them."""
    buffer = EventStreamBuffer()
    buffer.add_data(body)
    return list(buffer)


def test_each_message_is_a_frame() -> None:
    """Its bytes are unchanged for any chunk boundaries."""
    for chunks in all_splits(START + STOP):
        frames = read(EventStreamFramer(), chunks)
        assert [(frame.raw, frame.number, frame.name, frame.data) for frame in frames] == [
            (START, 0, "messageStart", b'{"role":"assistant"}'),
            (STOP, 1, "messageStop", b'{"stopReason":"tool_use"}'),
        ]


def test_a_chunk_with_one_message_is_not_copied() -> None:
    """The frame has the same bytes object."""
    [frame] = EventStreamFramer().feed(START)
    assert frame.raw is START


@pytest.mark.parametrize(
    ("raw", "name", "data", "is_failed"),
    [
        (THROTTLED, "throttlingException", b'{"message":"slow down"}', True),
        (chunk(b'{"type":"ping"}', p="abc"), "chunk", b'{"type":"ping"}', False),
        (fresh(b'{"bytes":"no base64!"}', "chunk").encode(), "chunk", b'{"bytes":"no base64!"}', False),
        (fresh(b"[1]", "chunk").encode(), "chunk", b"[1]", False),
        (fresh(b'{"bytes":"e30="}', "Records").encode(), "Records", b'{"bytes":"e30="}', False),
        (fresh(b"", "Cont").encode(), "Cont", None, False),
        (message({}, b"{}"), "", b"{}", False),
        (message({":message-type": "exception", ":exception-type": "X"}), "X", b'{"message":""}', True),
        (
            message({":message-type": "error", ":error-code": "InternalError", ":error-message": "über"}),
            "InternalError",
            b'{"message":"\\u00fcber"}',
            True,
        ),
    ],
)
def test_name_and_data_of_messages(raw: bytes, name: str, data: bytes | None, is_failed: bool) -> None:
    """Events, exceptions, errors, and events in base64."""
    [frame] = EventStreamFramer().feed(raw)
    assert (frame.name, frame.data) == (name, data)
    assert failed(decode(raw)) is is_failed


@given(st.lists(st.binary(max_size=30), max_size=4), st.binary(max_size=20), split_places())
def test_chunk_boundaries_do_not_matter(payloads: list[bytes], rest: bytes, places: list[int]) -> None:
    """With any bytes after the messages, with and without the size limit."""
    body = b"".join(fresh(payload, "x").encode() for payload in payloads) + rest
    frames = same_for_all_splits(EventStreamFramer, body, places)
    capped = same_for_all_splits(lambda: EventStreamFramer(max_frame=90), body, places)
    assert [frame.raw for frame in capped] == [frame.raw for frame in frames]
    assert all(frame.data is None for frame in capped if len(frame.raw) > 90)
    assert [frame.data for frame in frames[: len(payloads)]] == [payload or None for payload in payloads]


@pytest.mark.parametrize("at", range(12, len(START)))
def test_a_damaged_message_is_forwarded_unread(at: int) -> None:
    """The next message is read."""
    corrupted = bytearray(START)
    corrupted[at] ^= 1
    damaged, after = same_for_all_splits(EventStreamFramer, bytes(corrupted) + STOP)
    assert (damaged.raw, damaged.data, damaged.number, damaged.oversize) == (bytes(corrupted), None, 0, True)
    assert (after.name, after.number) == ("messageStop", 1)
    [frame] = EventStreamFramer().feed(bytes(corrupted))
    assert isinstance(frame, DamagedFrame)
    assert frame.damage == "the checksum of a message is wrong"


@pytest.mark.parametrize("at", range(12))
def test_everything_after_a_damaged_prelude_is_forwarded_unread(at: int) -> None:
    """Nothing is held, because the end of the message is unknown."""
    corrupted = bytearray(STOP)
    corrupted[at] ^= 0x80
    first, rest = same_for_all_splits(EventStreamFramer, START + bytes(corrupted) + START)
    assert (first.name, rest.raw, rest.data) == ("messageStart", bytes(corrupted) + START, None)
    framer = EventStreamFramer()
    [frame] = framer.feed(bytes(corrupted))
    assert isinstance(frame, DamagedFrame)
    assert frame.damage == "the checksum of a message's prelude is wrong; the rest cannot be read"
    assert [part.raw for part in framer.feed(START)] == [START]
    assert framer.feed(b"") == []


def test_a_message_over_the_size_limit_is_forwarded_in_parts() -> None:
    """Its length is known, and the next message is read."""
    lengths = (400_000_000).to_bytes(4) + bytes(4)
    framer = EventStreamFramer(max_frame=100)
    frames = [
        frame for part in (lengths + crc32(lengths).to_bytes(4), bytes(200), bytes(300)) for frame in framer.feed(part)
    ]
    assert [(len(frame.raw), frame.oversize) for frame in frames] == [(212, True), (300, True)]
    big, after = same_for_all_splits(lambda: EventStreamFramer(150), fresh(bytes(100), "x").encode() + STOP)
    assert (big.oversize, big.number, after.name, after.number) == (True, 0, "messageStop", 1)


def test_a_truncated_message_has_no_data() -> None:
    """Its checksum cannot be verified."""
    _, last = same_for_all_splits(EventStreamFramer, START + STOP[:-1])
    assert (last.raw, last.data, last.trailing, last.oversize) == (STOP[:-1], None, True, False)


def rewritten(raw: bytes, payload: Any, name: str | None = None) -> bytes:
    """The bytes of a message with other data. Asserts that its frame has the data too."""
    framer = EventStreamFramer()
    writer = writer_for(framer)
    assert isinstance(writer, EventStreamWriter)
    [frame] = framer.feed(raw)
    written = writer.rewrite(frame, payload, name)
    [again] = EventStreamFramer().feed(written.raw)
    assert (written.data, written.name, written.number) == (again.data, again.name, again.number)
    assert again.json == payload
    return written.raw


def test_other_data_in_a_message() -> None:
    """The headers stay, lengths and checksums are new, and a new name is optional."""
    headers = {":content-type": "application/json", ":event-type": "messageStop", ":message-type": "event", "x": "y"}
    old, new = message(headers, b'{"stopReason":"end_turn"}'), message(headers, b'{"stopReason":"tool_use","p":"abc"}')
    assert rewritten(old, {"stopReason": "tool_use", "p": "abc"}) == new
    [renamed] = read_by_botocore(rewritten(old, {}, "metadata"))
    assert (renamed.headers, renamed.payload) == ({**headers, ":event-type": "metadata"}, b"{}")


def test_other_data_in_a_wrapped_event() -> None:
    """Other fields of the payload stay, and the name is that of the outer message."""
    [written] = read_by_botocore(rewritten(chunk(b'{"type":"ping"}', p="abc"), {"type": "ä"}, "ping"))
    assert written.headers[":event-type"] == "chunk"
    payload = json.loads(written.payload)
    assert (base64.b64decode(payload.pop("bytes")), payload) == ('{"type":"ä"}'.encode(), {"p": "abc"})


def test_new_messages() -> None:
    """They are wrapped if the stream's messages are, except for exceptions."""
    framer = EventStreamFramer()
    writer = writer_for(framer)
    assert writer is not None
    plain = writer.make({"a": 1}, 3, "metadata")
    assert (plain.raw, plain.number) == (fresh(b'{"a":1}', "metadata").encode(), 3)
    framer.feed(chunk(b"{}"))
    inner = writer.make({"a": 1}, 4, "message_stop")
    [written] = EventStreamFramer().feed(inner.raw)
    assert (written.name, written.data) == (inner.name, inner.data) == ("chunk", b'{"a":1}')
    failure = writer.make({"message": "m"}, 5, "validationException")
    [exception] = read_by_botocore(failure.raw)
    assert (exception.headers[":exception-type"], exception.headers[":message-type"]) == (
        "validationException",
        "exception",
    )


def test_a_truncated_message_is_not_completed() -> None:
    """It is forwarded unchanged."""
    framer = EventStreamFramer()
    framer.feed(STOP[:-1])
    [truncated] = framer.feed(b"")
    writer = writer_for(framer)
    assert writer is not None
    assert writer.ended(truncated) is truncated


def test_botocore_reads_recorded_streams_alike(shared: Path) -> None:
    """The messages do not depend on chunk boundaries, and are encoded to the same bytes."""
    files = sorted((shared / "streams" / "bedrock-eventstream").iterdir())
    assert files
    for file in files:
        body = file.read_bytes()
        frames = read(EventStreamFramer(), [body])
        assert read(EventStreamFramer(), split_at(body, range(0, len(body), 7))) == frames, file.name
        messages = [decode(frame.raw) for frame in frames]
        assert b"".join(one.encode() for one in messages) == body, file.name
        decoded = [({header.name: header.text for header in one.headers}, one.payload) for one in messages]
        assert decoded == [(one.headers, one.payload) for one in read_by_botocore(body)], file.name
        assert all(frame.name and frame.data for frame in frames), file.name
