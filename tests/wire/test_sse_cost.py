"""The cost of server-sent events: blocks over the size limit, memory, and scanned bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.wire.splits import read, split_at
from toolstream_core.wire import sse
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    import re


def test_a_block_over_the_size_limit_is_forwarded_in_parts() -> None:
    """The parts have the same number, and the next block is read."""
    framer = SseFramer(max_frame=16)
    assert framer.feed(b"data: 0123") == []
    parts = [framer.feed(chunk) for chunk in (b"456789", b"ab", b"cd", b"\n", b"\ndata: x\n\n")]
    assert [[frame.raw for frame in frames] for frames in parts] == [
        [],
        [b"data: 0123456789ab"],
        [b"cd"],
        [b"\n"],
        [b"\n", b"data: x\n\n"],
    ]
    *over, last = [frame for frames in parts for frame in frames]
    assert {(frame.number, frame.data, frame.oversize) for frame in over} == {(0, None, True)}
    assert (last.number, last.data, last.oversize) == (1, b"x", False)
    assert framer.feed(b"") == []


def test_held_bytes_of_a_long_block_are_limited() -> None:
    """Only two bytes are kept, to find its end."""
    framer = SseFramer(max_frame=1000)
    for _ in range(100):
        framer.feed(b"data: " + b"x" * 994)
        assert len(framer._held) <= 1000
        assert len(framer._tail) <= 2


def test_a_blank_cr_at_the_end_of_a_block_over_the_size_limit() -> None:
    """The next byte decides where the block ends, and no part is empty."""
    framer = SseFramer(max_frame=4)
    assert [frame.raw for frame in framer.feed(b"data: x\n\r")] == [b"data: x\n\r"]
    assert [frame.number for frame in framer.feed(b"id\n\n")] == [1]
    framer.feed(b"data: x\n\r")
    assert framer.feed(b"") == []


class CountingPattern:
    """A compiled expression that counts the scanned bytes."""

    def __init__(self, inner: re.Pattern[bytes]) -> None:
        self.inner = inner
        self.scanned = 0

    def search(self, text: bytes, at: int = 0) -> re.Match[bytes] | None:
        match = self.inner.search(text, at)
        self.scanned += (match.end() if match else len(text)) - at
        return match


@pytest.mark.parametrize("size", [1, 2, 3, 7, 4000])
@pytest.mark.parametrize(
    "body", [b"data: " + b"x" * 40_000 + b"\n\n", b"id: 7\r\ndata: x\r\n\r\n" * 2000, b"\n" * 40_000]
)
def test_each_byte_is_scanned_a_bounded_number_of_times(
    monkeypatch: pytest.MonkeyPatch, body: bytes, size: int
) -> None:
    """The number depends neither on the chunk size nor on the length of a block."""
    patterns = [CountingPattern(sse._END), CountingPattern(sse._NOT_BLANK)]
    monkeypatch.setattr(sse, "_END", patterns[0])
    monkeypatch.setattr(sse, "_NOT_BLANK", patterns[1])
    read(SseFramer(), split_at(body, range(0, len(body), size)))
    assert sum(pattern.scanned for pattern in patterns) <= 6 * len(body)
