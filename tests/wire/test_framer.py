"""The cost of bytes that wait for the next chunk does not depend on chunk boundaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import pytest

from tests.wire.splits import read, split_at
from toolstream_core.wire.frame import Framer
from toolstream_core.wire.json_framings import ArrayFramer, DocumentFramer, LineFramer
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    from collections.abc import Callable

BODIES: list[tuple[Callable[[], Framer], bytes]] = [
    (SseFramer, b"id: 1\ndata: {}\n\n" * 3000),
    (SseFramer, b"id\ndata: " + b"x" * 48_000 + b"\n\n"),
    (LineFramer, b'{"a":1}\n' * 6000),
    (LineFramer, b" \n" * 24_000),
    (ArrayFramer, b"[" + b'{"a":[1,"\\""]},\r\n' * 3000 + b"]"),
    (ArrayFramer, b'["' + b"\\\\" * 24_000 + b'"]'),
    (DocumentFramer, b'{"a":1}' + b" " * 48_000),
]


class CountingBuffer(bytearray):
    """The held bytes. Counts how many are added and removed."""

    moved = 0

    def __iadd__(self, more: bytes) -> Self:  # type: ignore[override, misc]
        """Count added bytes."""
        self.moved += len(more)
        self.extend(more)
        return self

    def __bytes__(self) -> bytes:
        """Count removed bytes."""
        self.moved += len(self)
        return b"".join([self])


@pytest.mark.parametrize("size", [1, 2, 5, 1000, 50_000])
@pytest.mark.parametrize(("make", "body"), BODIES)
def test_each_byte_is_scanned_once_and_copied_at_most_twice(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], Framer], body: bytes, size: int
) -> None:
    """The cost is linear for every framing and chunk size."""
    framer = make()
    held = framer._held = CountingBuffer()
    seek, scanned = framer._seek, 0

    def counted(chunk: bytes, at: int) -> int:
        nonlocal scanned
        end = seek(chunk, at)
        scanned += (end if end >= 0 else len(chunk)) - at
        return end

    monkeypatch.setattr(framer, "_seek", counted)
    frames = read(framer, split_at(body, range(0, len(body), size)))
    assert b"".join(frame.raw for frame in frames) == body
    assert scanned == len(body)
    assert held.moved <= 2 * len(body)


@pytest.mark.parametrize(("make", "body"), BODIES)
def test_held_bytes_are_limited(make: Callable[[int], Framer], body: bytes) -> None:
    """The size limit also limits the memory."""
    framer = make(100)
    for chunk in split_at(body, range(0, len(body), 17)):
        framer.feed(chunk)
        assert len(framer._held) <= 100
