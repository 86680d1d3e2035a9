from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolstream_core.proxy.capture.spool import OWN, READ_SIZE, Spool

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("size", [0, 10, 2000, OWN, 3 * READ_SIZE])
def test_a_spool_returns_its_bytes(tmp_path: Path, size: int) -> None:
    """The bytes are in memory or in a file without a name, which no killed process can leave behind."""
    data = bytes(range(256)) * (size // 256 + 1)
    spool = Spool(tmp_path)
    for at in range(0, size, 1000):
        spool.write(data[at : min(at + 1000, size)])
        next(spool.chunks())
    assert (spool.size, b"".join(spool.chunks())) == (size, data[:size])
    assert all(len(chunk) <= READ_SIZE for chunk in spool.chunks())
    assert list(tmp_path.iterdir()) == []
    spool.close()
