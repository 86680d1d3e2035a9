from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolstream_core.proxy.capture.body import IN_MEMORY, PIECE, Spool

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("size", [0, 10, 2000, 3 * PIECE, IN_MEMORY, IN_MEMORY + 1, 3 * IN_MEMORY])
def test_what_goes_in_comes_out(tmp_path: Path, size: int) -> None:
    """From memory or from a file, which has no name by which it could stay behind; also between two writes."""
    data = bytes(range(256)) * (size // 256 + 1)
    spool = Spool(tmp_path)
    for at in range(0, size, 1000):
        spool.write(data[at : min(at + 1000, size)])
        if at % 7000 == 0:
            assert b"".join(spool.chunks()) == data[: spool.size]
    assert (spool.size, b"".join(spool.chunks())) == (size, data[:size])
    assert all(len(piece) <= PIECE for piece in spool.chunks())
    assert list(tmp_path.iterdir()) == []
    spool.close()
