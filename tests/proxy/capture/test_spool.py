from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolstream_core.proxy.capture.spool import READ_SIZE, Memory, Spool

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("size", [0, 10, 2000, 3 * READ_SIZE])
@pytest.mark.parametrize("room", [0, 1500, 4 * READ_SIZE])
def test_a_spool_returns_its_bytes(tmp_path: Path, size: int, room: int) -> None:
    """The bytes are in memory or in a file without a name, which no killed process can leave behind."""
    data = bytes(range(256)) * (size // 256 + 1)
    memory = Memory(room)
    spool = Spool(tmp_path, memory)
    for at in range(0, size, 1000):
        spool.write(data[at : min(at + 1000, size)])
    assert (spool.size, b"".join(spool.chunks())) == (size, data[:size])
    assert all(len(chunk) <= READ_SIZE for chunk in spool.chunks())
    assert list(tmp_path.iterdir()) == []
    spool.close()
    assert memory.room == room


def test_spools_share_memory(tmp_path: Path) -> None:
    """A spool that finds no memory left writes to a file and releases its memory."""
    memory = Memory(1000)
    long, short = Spool(tmp_path, memory), Spool(tmp_path, memory)
    long.write(b"a" * 600)
    short.write(b"b" * 300)
    long.write(b"a" * 600)
    assert memory.room == 700
    long.write(b"a")
    assert memory.room == 700
    assert (b"".join(long.chunks()), b"".join(short.chunks())) == (b"a" * 1201, b"b" * 300)
    short.close()
    assert memory.room == 1000
    long.close()
