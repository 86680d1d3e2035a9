"""JSON lines: line ends, blank lines, the last line, the size limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings

from tests.wire.splits import all_splits, bodies, read, same_for_all_splits, split_at, split_places
from toolstream_core.wire.json_framings import LineFramer

if TYPE_CHECKING:
    from pathlib import Path

TOKENS = (b"\n", b"\r\n", b"\r", b" ", b"\t", b'{"a":1}', b'{"a":1}\n', b'{"a":', b"\xef\xbb\xbf", b"\n\n")


def test_each_line_is_a_frame() -> None:
    """Lines end with LF or CRLF, and chunk boundaries do not matter."""
    body = b'{"a":1}\n{"b":2}\r\n{"c":3}\n'
    for chunks in all_splits(body):
        frames = read(LineFramer(), chunks)
        assert [(f.raw, f.number, f.data, f.trailing) for f in frames] == [
            (b'{"a":1}\n', 0, b'{"a":1}', False),
            (b'{"b":2}\r\n', 1, b'{"b":2}', False),
            (b'{"c":3}\n', 2, b'{"c":3}', False),
        ]


def test_a_chunk_with_one_line_is_not_copied() -> None:
    """The frame has the same bytes object."""
    chunk = b'{"a":1}\n'
    (frame,) = LineFramer().feed(chunk)
    assert frame.raw is chunk


def test_the_last_line_may_lack_its_line_feed() -> None:
    """It is a trailing frame with data."""
    *_, last = same_for_all_splits(LineFramer, b'{"a":1}\n{"b":2}')
    assert (last.data, last.number, last.trailing) == (b'{"b":2}', 1, True)


def test_blank_lines_belong_to_the_next_line() -> None:
    """Lines of white space do too."""
    first, second, rest = same_for_all_splits(LineFramer, b'\r\n \n{"a":1}\n\n\t{"b":2} \n\n ')
    assert (first.raw, first.data) == (b'\r\n \n{"a":1}\n', b'{"a":1}')
    assert (second.raw, second.data) == (b'\n\t{"b":2} \n', b'{"b":2}')
    assert (rest.raw, rest.number, rest.data, rest.trailing) == (b"\n ", 2, None, True)


@pytest.mark.parametrize(("body", "data"), [(b"\xef\xbb\xbf{}\n", b"{}"), (b"\n\xef\xbb\xbf{}\n", b"{}")])
def test_a_byte_order_mark_is_no_data(body: bytes, data: bytes) -> None:
    """Neither is it after blank lines."""
    (frame,) = same_for_all_splits(LineFramer, body)
    assert frame.data == data


@settings(max_examples=300)
@given(bodies(*TOKENS), split_places())
@example(b" \n \n", [1])
def test_chunk_boundaries_do_not_matter(body: bytes, places: list[int]) -> None:
    """For any bytes, with and without the size limit."""
    frames = same_for_all_splits(LineFramer, body, places)
    assert all(frame.raw.count(b"\n") <= 1 for frame in frames if frame.raw.strip() and frame.raw[:1] == b"{")
    capped = same_for_all_splits(lambda: LineFramer(max_frame=9), body, places)
    assert [frame.raw for frame in capped] == [frame.raw for frame in frames]
    assert all(frame.oversize == (len(frame.raw) > 9) for frame in capped)


def test_recorded_streams(shared: Path) -> None:
    """The frames have all bytes, and do not depend on chunk boundaries."""
    files = [file for ending in ("ndjson", "jsonl") for file in (shared / "streams").rglob(f"*.{ending}")]
    assert files
    for file in files:
        body = file.read_bytes()
        frames = read(LineFramer(), [body])
        assert b"".join(frame.raw for frame in frames) == body, file.name
        assert read(LineFramer(), split_at(body, range(0, len(body), 7))) == frames, file.name
        assert [frame.data for frame in frames if frame.data] == body.split(b"\n")[: len(frames)], file.name
