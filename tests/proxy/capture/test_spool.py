from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolstream_core.proxy.capture.spool import MEMORY, PIECE, Spool

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("size", [0, 10, MEMORY + 3 * PIECE])
def test_what_goes_in_comes_out(tmp_path: Path, size: int) -> None:
    """From memory or from a file, which has no name by which it could stay behind."""
    data = bytes(range(256)) * (size // 256 + 1)
    spool = Spool(tmp_path)
    for at in range(0, size, 1000):
        spool.write(data[at : min(at + 1000, size)])
    assert (spool.size, b"".join(spool.pieces())) == (size, data[:size])
    assert all(len(piece) <= PIECE for piece in spool.pieces())
    assert list(tmp_path.iterdir()) == []
    spool.close()
