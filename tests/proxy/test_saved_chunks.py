"""Saved chunks come at their times."""

from __future__ import annotations

import pytest

from toolstream_core.proxy.delivery import SavedChunks
from toolstream_core.shrinking.candidate import Chunk

CHUNKS = (Chunk(100, b"a"), Chunk(700, b"b"))


@pytest.mark.parametrize(("speed", "due"), [(1, [5.1, 5.7]), (2, [5.05, 5.35]), (0, [5, 5])])
def test_due(speed: float, due: list[float]) -> None:
    """Milliseconds after the beginning, divided by the speed; at once where the speed is 0."""
    saved = SavedChunks(CHUNKS, speed)
    saved.begin(5)
    saved.begin(9)
    times: list[float] = []
    while saved:
        times.append(saved.due)
        saved.pop()
    assert times == pytest.approx(due)


def test_chunks_come_in_order() -> None:
    """Those that come later stand behind the others."""
    saved = SavedChunks(CHUNKS, 0)
    saved.extend([Chunk(0, b"c")])
    assert [saved.pop() for _ in range(3)] == [b"a", b"b", b"c"]
    assert not saved


def test_clear() -> None:
    """Nothing is left."""
    saved = SavedChunks(CHUNKS, 0)
    saved.clear()
    assert not saved
