"""Server-sent events: the standard's examples, test vectors, chunk boundaries, the size limit."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings

from tests.wire.splits import all_splits, bodies, bytewise, read, same_for_all_splits, split_at, split_places
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    from pathlib import Path

TOKENS = (
    b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n", b"\n\r", b"\r\r\n", b"data: x", b"data:x",
    b"data", b"data:", b"event: e", b"event: \xff", b"id: 1", b"id: \x00", b"id", b"retry: 5", b": c", b":",
    b"\xef\xbb\xbf", b"\xef", b"\xbb", b"data: {}\n\n", b"event: e\ndata: {}\n\n", b"data: {}\r\n\r\n",
    b"event: e\r\ndata: {}\r\n\r\n", b" ",
)  # fmt: skip


def events(body: bytes, places: list[int] | None = None) -> list[tuple[str, bytes | None]]:
    """Name and data of each event that a browser dispatches."""
    frames = read(SseFramer(), split_at(body, places or []))
    return [(f.name, f.data) for f in frames if f.data is not None and not f.trailing]


# The examples of https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation


def test_example_stock_ticker() -> None:
    """Data lines of a block are joined with line feeds."""
    assert events(b"data: YHOO\ndata: +2\ndata: 10\n\n") == [("", b"YHOO\n+2\n10")]


def test_example_four_blocks() -> None:
    """A comment, an id, a reset id, and a last block without a blank line."""
    body = b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event"
    comment, first, second, third = same_for_all_splits(SseFramer, body)
    assert (comment.data, comment.number) == (None, 0)
    assert (first.data, first.number) == (b"first event", 0)
    assert (second.data, second.number) == (b"second event", 1)
    assert (third.data, third.trailing, third.number) == (b" third event", True, 2)
    assert events(body) == [("", b"first event"), ("", b"second event")]


def test_example_two_events_of_empty_data() -> None:
    """A field without a colon has an empty value, and empty data is an event."""
    body = b"data\n\ndata\ndata\n\ndata:"
    assert events(body) == [("", b""), ("", b"\n")]
    assert read(SseFramer(), [body])[-1].trailing


def test_example_space_after_the_colon_is_ignored() -> None:
    """At most one space is."""
    assert events(b"data:test\n\ndata: test\n\n") == [("", b"test"), ("", b"test")]


def vectors(shared: Path) -> list[dict[str, Any]]:
    """The test vectors of four other projects, with the expected events."""
    found: list[dict[str, Any]] = json.loads((shared / "sse_vectors.json").read_text("utf-8"))
    return found


def test_vectors(shared: Path) -> None:
    """Events and numbers do not depend on chunk boundaries."""
    for vector in vectors(shared):
        body = bytes.fromhex(vector["body_hex"])
        wanted = [(e["event"], e["data"]) for e in vector["expected"]]
        for chunks in [*all_splits(body), list(split_at(body, vector.get("splits", [])))]:
            framer = SseFramer()
            frames = read(framer, chunks)
            dispatched = [frame for frame in frames if frame.data is not None and not frame.trailing]
            found = [(f.name or "message", str(f.data, "utf-8", "replace")) for f in dispatched if f.data is not None]
            assert found == wanted, vector["name"]
            assert [frame.number for frame in dispatched] == list(range(len(wanted)))
            assert b"".join(frame.raw for frame in frames) == body


@settings(max_examples=600)
@given(bodies(*TOKENS), split_places())
@example(b"\xefdata: x\n\ndata: y\n\n", [1])
@example(b"data: x\n\r\ndata: y\n\n", [8, 9])
@example(b"data: x\r\r\ndata: y\n\n", [9])
@example(b"\r\n\n\r", [])
def test_chunk_boundaries_do_not_matter(body: bytes, places: list[int]) -> None:
    """Numbers count frames with data, and only the last frame may be incomplete."""
    frames = same_for_all_splits(SseFramer, body, places)
    assert not any(frame.oversize for frame in frames)
    assert not any(frame.trailing for frame in frames[:-1])
    with_data = [frame.number for frame in frames if frame.data is not None]
    assert with_data == list(range(len(with_data)))


@settings(max_examples=600)
@given(bodies(*TOKENS), split_places())
@example(b"\xef\xbb\xbf: comment\n\ndata\n\n", [1, 2])
@example(b": comment\n\r\ndata: x\n\n", [11, 12])
def test_chunk_boundaries_do_not_matter_above_the_size_limit(body: bytes, places: list[int]) -> None:
    """Only the length makes a frame oversize, and the limit moves no frame's end."""
    frames = same_for_all_splits(lambda: SseFramer(max_frame=8), body, places)
    assert all(frame.oversize == (len(frame.raw) > 8) for frame in frames)
    uncapped = read(SseFramer(), [body])
    assert [frame.raw for frame in frames] == [frame.raw for frame in uncapped]


@given(bodies(*TOKENS), split_places())
def test_events_are_those_of_the_standard_algorithm(body: bytes, places: list[int]) -> None:
    """The fast path and the general one give the same events."""
    assert events(body, places) == standard_algorithm(body)


def standard_algorithm(body: bytes) -> list[tuple[str, bytes | None]]:
    """The events of a complete body by the steps of the standard."""
    dispatched: list[tuple[str, bytes | None]] = []
    name, data = "", b""
    *lines, _unfinished = re.split(rb"\r\n|\r|\n", body.removeprefix(b"\xef\xbb\xbf"))
    for line in lines:
        if not line:
            if data:
                dispatched.append((name, data[:-1]))
            name, data = "", b""
            continue
        field, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if field == b"event":
            name = value.decode(errors="replace")
        if field == b"data":
            data += value + b"\n"
    return dispatched


def test_a_chunk_with_one_block_is_not_copied() -> None:
    """The frame has the same bytes object."""
    framer = SseFramer()
    for chunk in (
        b"data: {}\n\n",
        b"event: x\ndata: {}\n\n",
        b"data: {}\r\n\r\n",
        b"id: 1\ndata: {}\n\n",
        b": c\n\n",
    ):
        (frame,) = framer.feed(chunk)
        assert frame.raw is chunk


def test_leading_blank_lines_belong_to_the_next_block() -> None:
    """Any line ends are blank lines."""
    first, second = read(SseFramer(), [b"\n\r\n\rdata: 1\n\n\n\ndata: 2\n\n"])
    assert (first.raw, second.raw) == (b"\n\r\n\rdata: 1\n\n", b"\n\ndata: 2\n\n")


@pytest.mark.parametrize(
    ("sent", "then", "frames"),
    [
        (b"data: x\n\r", b"\ndata", [b"data: x\n\r\n", b"data"]),
        (b"data: x\r\n\r", b"\ndata", [b"data: x\r\n\r\n", b"data"]),
        (b"data: x\n\r", b"data", [b"data: x\n\r", b"data"]),
        (b"data: x\n\r", b"", [b"data: x\n\r"]),
    ],
)
def test_a_blank_cr_after_lf_waits_for_its_lf(sent: bytes, then: bytes, frames: list[bytes]) -> None:
    """Otherwise the chunk boundary would decide which frame the LF belongs to."""
    framer = SseFramer()
    assert framer.feed(sent) == []
    rest = read(framer, [then])
    assert [frame.raw for frame in rest] == frames
    assert (rest[0].data, rest[0].trailing) == (b"x", False)


def test_a_blank_cr_after_a_bare_cr_does_not_wait() -> None:
    """In a stream of bare CRs, each event is a frame at once."""
    framer = SseFramer()
    (frame,) = framer.feed(b"data: x\r\r")
    assert frame.raw == b"data: x\r\r"
    (second,) = framer.feed(b"\ndata: y\r\r")
    assert (second.raw, second.data, second.number) == (b"\ndata: y\r\r", b"y", 1)


@pytest.mark.parametrize(
    ("rest", "data"),
    [
        (b"data: x\n", b"x"),
        (b"data: x", b"x"),
        (b"data: x\ndata: y", b"x\ny"),
        (b"data", b""),
        (b"dat", None),
        (b"event: x\n", None),
        (b": comment", None),
        (b"\n\r\n", None),
        (b"\xef\xbb", None),
        (b"\xef\xbb\xbf", None),
    ],
)
def test_an_incomplete_block_at_the_end_is_a_trailing_frame(rest: bytes, data: bytes | None) -> None:
    """Its data is available, although the standard does not dispatch it."""
    (frame,) = same_for_all_splits(SseFramer, rest)
    assert (frame.raw, frame.data, frame.number, frame.trailing) == (rest, data, 0, True)


def test_the_end_may_be_fed_again() -> None:
    """The trailing frame is returned only once."""
    framer = SseFramer()
    framer.feed(b"data: x")
    assert len(framer.feed(b"")) == 1
    assert framer.feed(b"") == []
    assert SseFramer().feed(b"") == []


def test_bytes_that_are_no_utf8_stay() -> None:
    """They are replaced only when they are read as text, as in the standard."""
    (frame,) = SseFramer().feed(b'event: \xff\ndata: {"a":"\xff"}\n\n')
    assert frame.data == b'{"a":"\xff"}'
    assert frame.name == "\ufffd"
    assert frame.json == {"a": "\ufffd"}


def test_recorded_streams(shared: Path) -> None:
    """The frames have all bytes, and do not depend on chunk boundaries."""
    files = sorted((shared / "streams").rglob("*.sse"))
    assert files
    for file in files:
        body = file.read_bytes()
        frames = read(SseFramer(), [body])
        assert b"".join(frame.raw for frame in frames) == body, file.name
        assert read(SseFramer(), split_at(body, range(0, len(body), 7))) == frames, file.name


def test_single_bytes_of_a_long_stream() -> None:
    """The frames are the same as for the complete body."""
    body = b"".join(b"event: e%d\ndata: {%d}\n\n" % (n % 3, n) for n in range(500))
    assert read(SseFramer(), bytewise(body)) == read(SseFramer(), [body])
