"""JSON lines: ends, blanks, the last line, the cap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings

from tests.wire.cuts import bodies, cut_at, every_cut, places, read, same_however_cut
from toolstream_core.wire.json_framings import LineFramer

if TYPE_CHECKING:
    from pathlib import Path

TOKENS = (b"\n", b"\r\n", b"\r", b" ", b"\t", b'{"a":1}', b'{"a":1}\n', b'{"a":', b"\xef\xbb\xbf", b"\n\n")


def test_each_line_is_a_frame() -> None:
    """LF and CRLF, at every cut."""
    body = b'{"a":1}\n{"b":2}\r\n{"c":3}\n'
    for chunks in every_cut(body):
        frames = read(LineFramer(), chunks)
        assert [(f.raw, f.number, f.data, f.trailing) for f in frames] == [
            (b'{"a":1}\n', 0, b'{"a":1}', False),
            (b'{"b":2}\r\n', 1, b'{"b":2}', False),
            (b'{"c":3}\n', 2, b'{"c":3}', False),
        ]


def test_a_chunk_that_is_one_line_is_the_frame_as_it_came() -> None:
    """The same object, so that what passes unchanged is not copied."""
    chunk = b'{"a":1}\n'
    (frame,) = LineFramer().feed(chunk)
    assert frame.raw is chunk


def test_the_last_line_may_lack_its_line_feed() -> None:
    """It has data all the same."""
    *_, last = same_however_cut(LineFramer, b'{"a":1}\n{"b":2}')
    assert (last.data, last.number, last.trailing) == (b'{"b":2}', 1, True)


def test_blank_lines_belong_to_the_next_line() -> None:
    """Lines of white space too."""
    first, second, rest = same_however_cut(LineFramer, b'\r\n \n{"a":1}\n\n\t{"b":2} \n\n ')
    assert (first.raw, first.data) == (b'\r\n \n{"a":1}\n', b'{"a":1}')
    assert (second.raw, second.data) == (b'\n\t{"b":2} \n', b'{"b":2}')
    assert (rest.raw, rest.number, rest.data, rest.trailing) == (b"\n ", 2, None, True)


@pytest.mark.parametrize(("body", "data"), [(b"\xef\xbb\xbf{}\n", b"{}"), (b"\n\xef\xbb\xbf{}\n", b"{}")])
def test_a_byte_order_mark_is_no_data(body: bytes, data: bytes) -> None:
    """Also behind blank lines."""
    (frame,) = same_however_cut(LineFramer, body)
    assert frame.data == data


@settings(max_examples=300)
@given(bodies(*TOKENS), places())
@example(b" \n \n", [1])
def test_the_same_frames_however_cut(body: bytes, where: list[int]) -> None:
    """The first invariant, on anything, with and without the cap."""
    frames = same_however_cut(LineFramer, body, where)
    assert all(frame.raw.count(b"\n") <= 1 for frame in frames if frame.raw.strip() and frame.raw[:1] == b"{")
    capped = same_however_cut(lambda: LineFramer(max_frame=9), body, where)
    assert [frame.raw for frame in capped] == [frame.raw for frame in frames]
    assert all(frame.oversize == (len(frame.raw) > 9) for frame in capped)


def test_recorded_streams_join_to_their_bytes_however_cut(shared: Path) -> None:
    """What providers really sent, line for line."""
    files = [file for ending in ("ndjson", "jsonl") for file in (shared / "streams").rglob(f"*.{ending}")]
    assert files
    for file in files:
        body = file.read_bytes()
        whole = read(LineFramer(), [body])
        assert b"".join(frame.raw for frame in whole) == body, file.name
        assert read(LineFramer(), cut_at(body, range(0, len(body), 7))) == whole, file.name
        assert [frame.data for frame in whole if frame.data] == body.split(b"\n")[: len(whole)], file.name
