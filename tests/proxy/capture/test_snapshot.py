from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from toolstream_core.proxy.capture.folder import lock
from toolstream_core.proxy.capture.spool import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_each_write_replaces_the_file(tmp_path: Path) -> None:
    """The file is hidden, locked and private, and is deleted when it is closed."""
    snapshot = Snapshot(tmp_path)
    for content in ([b"first"], [b"se", b"cond"]):
        snapshot.write(content)
        [path] = tmp_path.iterdir()
        assert path.read_bytes() == b"".join(content)
        assert path.name.startswith(".")
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IRUSR | stat.S_IWUSR
        with path.open("rb") as file, pytest.raises(OSError, match="unavailable"):
            lock(file)
    snapshot.close()
    snapshot.close()
    assert [*tmp_path.iterdir()] == []


def test_a_failed_write_keeps_the_previous_content(tmp_path: Path) -> None:
    """A failed write leaves no second file."""

    def fails() -> Iterator[bytes]:
        yield b"x"
        raise OSError("full")

    snapshot = Snapshot(tmp_path)
    snapshot.write([b"first"])
    with pytest.raises(OSError, match="full"):
        snapshot.write(fails())
    [path] = tmp_path.iterdir()
    assert path.read_bytes() == b"first"
    snapshot.close()
