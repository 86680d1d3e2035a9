"""AWS event streams: names and data, every cut, damage, the cap, messages made anew."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.cuts import cut_at, every_cut, places, read, same_however_cut
from toolstream_core.wire.aws_event_stream import STRING, EventStreamFramer, Header, Message, decode, failed, fresh
from toolstream_core.wire.frame import DamagedFrame
from toolstream_core.wire.write import EventStreamWriter, writer_for

if TYPE_CHECKING:
    from pathlib import Path

START = fresh(b'{"role":"assistant"}', "messageStart").encode()
STOP = fresh(b'{"stopReason":"tool_use"}', "messageStop").encode()
THROTTLED = fresh(b'{"message":"slow down"}', "throttlingException").encode()


def chunk(inner: bytes, **others: str) -> bytes:
    """A message that wraps bytes."""
    return fresh(json.dumps({"bytes": base64.b64encode(inner).decode(), **others}).encode(), "chunk").encode()


def message(headers: dict[str, str], payload: bytes = b"") -> bytes:
    """A message with these headers."""
    return Message(tuple(Header(name, STRING, value.encode()) for name, value in headers.items()), payload).encode()


def as_botocore(body: bytes) -> list[Any]:
    """The messages as the official client's decoder reads them."""
    buffer = EventStreamBuffer()
    buffer.add_data(body)
    return list(buffer)


def test_each_message_is_a_frame() -> None:
    """With its bytes as they came, at every cut."""
    for chunks in every_cut(START + STOP):
        frames = read(EventStreamFramer(), chunks)
        assert [(frame.raw, frame.number, frame.name, frame.data) for frame in frames] == [
            (START, 0, "messageStart", b'{"role":"assistant"}'),
            (STOP, 1, "messageStop", b'{"stopReason":"tool_use"}'),
        ]


def test_a_chunk_that_is_one_message_is_the_frame_as_it_came() -> None:
    """The same object, so that what passes unchanged is not copied."""
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
def test_what_a_message_says(raw: bytes, name: str, data: bytes | None, is_failed: bool) -> None:
    """Events, exceptions, errors, and bytes wrapped in JSON."""
    [frame] = EventStreamFramer().feed(raw)
    assert (frame.name, frame.data) == (name, data)
    assert failed(decode(raw)) is is_failed


@given(st.lists(st.binary(max_size=30), max_size=4), st.binary(max_size=20), places())
def test_the_same_frames_however_cut(payloads: list[bytes], rest: bytes, where: list[int]) -> None:
    """With anything behind them, with and without the cap."""
    body = b"".join(fresh(payload, "x").encode() for payload in payloads) + rest
    whole = same_however_cut(EventStreamFramer, body, where)
    capped = same_however_cut(lambda: EventStreamFramer(max_frame=90), body, where)
    assert [frame.raw for frame in capped] == [frame.raw for frame in whole]
    assert all(frame.data is None for frame in capped if len(frame.raw) > 90)
    assert [frame.data for frame in whole[: len(payloads)]] == [payload or None for payload in payloads]


@pytest.mark.parametrize("at", range(12, len(START)))
def test_a_damaged_message_passes_unread(at: int) -> None:
    """The next one is read."""
    broken = bytearray(START)
    broken[at] ^= 1
    damaged, after = same_however_cut(EventStreamFramer, bytes(broken) + STOP)
    assert (damaged.raw, damaged.data, damaged.number, damaged.oversize) == (bytes(broken), None, 0, True)
    assert (after.name, after.number) == ("messageStop", 1)
    [frame] = EventStreamFramer().feed(bytes(broken))
    assert isinstance(frame, DamagedFrame)
    assert frame.damage == "the checksum of a message is wrong"


@pytest.mark.parametrize("at", range(12))
def test_behind_a_damaged_prelude_everything_passes_unread(at: int) -> None:
    """At once: nothing is held back for an end that nobody knows."""
    broken = bytearray(STOP)
    broken[at] ^= 0x80
    first, rest = same_however_cut(EventStreamFramer, START + bytes(broken) + START)
    assert (first.name, rest.raw, rest.data) == ("messageStart", bytes(broken) + START, None)
    framer = EventStreamFramer()
    [frame] = framer.feed(bytes(broken))
    assert isinstance(frame, DamagedFrame)
    assert frame.damage == "the checksum of a message's prelude is wrong; the rest cannot be read"
    assert [piece.raw for piece in framer.feed(START)] == [START]
    assert framer.feed(b"") == []


def test_a_message_over_the_cap_goes_on_in_pieces() -> None:
    """Its length is known, and so where the next one begins."""
    lengths = (400_000_000).to_bytes(4) + bytes(4)
    framer = EventStreamFramer(max_frame=100)
    frames = [
        frame
        for piece in (lengths + crc32(lengths).to_bytes(4), bytes(200), bytes(300))
        for frame in framer.feed(piece)
    ]
    assert [(len(frame.raw), frame.oversize) for frame in frames] == [(212, True), (300, True)]
    big, after = same_however_cut(lambda: EventStreamFramer(150), fresh(bytes(100), "x").encode() + STOP)
    assert (big.oversize, big.number, after.name, after.number) == (True, 0, "messageStop", 1)


def test_a_message_that_is_cut_off() -> None:
    """Cannot be checked, and says nothing."""
    _, last = same_however_cut(EventStreamFramer, START + STOP[:-1])
    assert (last.raw, last.data, last.trailing, last.oversize) == (STOP[:-1], None, True, False)


def rewritten(raw: bytes, payload: Any, name: str | None = None) -> bytes:
    """A message with other data, which its frame shows too."""
    framer = EventStreamFramer()
    writer = writer_for(framer)
    assert isinstance(writer, EventStreamWriter)
    [frame] = framer.feed(raw)
    made = writer.rewrite(frame, payload, name)
    [again] = EventStreamFramer().feed(made.raw)
    assert (made.data, made.name, made.number) == (again.data, again.name, again.number)
    assert again.json == payload
    return made.raw


def test_other_data_in_a_message() -> None:
    """Its headers stay, lengths and checksums are new; a name is changed where one is given."""
    headers = {":content-type": "application/json", ":event-type": "messageStop", ":message-type": "event", "x": "y"}
    old, new = message(headers, b'{"stopReason":"end_turn"}'), message(headers, b'{"stopReason":"tool_use","p":"abc"}')
    assert rewritten(old, {"stopReason": "tool_use", "p": "abc"}) == new
    [renamed] = as_botocore(rewritten(old, {}, "metadata"))
    assert (renamed.headers, renamed.payload) == ({**headers, ":event-type": "metadata"}, b"{}")


def test_other_data_in_a_wrapped_event() -> None:
    """What stands beside the bytes stays; the name is the wrapping's."""
    [made] = as_botocore(rewritten(chunk(b'{"type":"ping"}', p="abc"), {"type": "ä"}, "ping"))
    assert made.headers[":event-type"] == "chunk"
    payload = json.loads(made.payload)
    assert (base64.b64decode(payload.pop("bytes")), payload) == ('{"type":"ä"}'.encode(), {"p": "abc"})


def test_new_messages() -> None:
    """As the stream's: wrapped where those that come are, but never an exception."""
    framer = EventStreamFramer()
    writer = writer_for(framer)
    assert writer is not None
    plain = writer.make({"a": 1}, 3, "metadata")
    assert (plain.raw, plain.number) == (fresh(b'{"a":1}', "metadata").encode(), 3)
    framer.feed(chunk(b"{}"))
    inner = writer.make({"a": 1}, 4, "message_stop")
    [made] = EventStreamFramer().feed(inner.raw)
    assert (made.name, made.data) == (inner.name, inner.data) == ("chunk", b'{"a":1}')
    failure = writer.make({"message": "m"}, 5, "validationException")
    [said] = as_botocore(failure.raw)
    assert (said.headers[":exception-type"], said.headers[":message-type"]) == ("validationException", "exception")


def test_what_is_missing_of_a_message_is_not_made_up() -> None:
    """Half a message stays half."""
    framer = EventStreamFramer()
    framer.feed(STOP[:-1])
    [half] = framer.feed(b"")
    writer = writer_for(framer)
    assert writer is not None
    assert writer.ended(half) is half


def test_recorded_streams_as_botocore_reads_them(shared: Path) -> None:
    """What Bedrock really sent: the same messages however cut, and the same bytes when written again."""
    files = sorted((shared / "streams" / "bedrock-eventstream").iterdir())
    assert files
    for file in files:
        body = file.read_bytes()
        frames = read(EventStreamFramer(), [body])
        assert read(EventStreamFramer(), cut_at(body, range(0, len(body), 7))) == frames, file.name
        messages = [decode(frame.raw) for frame in frames]
        assert b"".join(one.encode() for one in messages) == body, file.name
        told = [({header.name: header.text for header in one.headers}, one.payload) for one in messages]
        assert told == [(one.headers, one.payload) for one in as_botocore(body)], file.name
        assert all(frame.name and frame.data for frame in frames), file.name
