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
    """It is hidden, locked, and its owner's alone; closed, it is gone."""
    one = Snapshot(tmp_path)
    for content in ([b"first"], [b"se", b"cond"]):
        one.write(content)
        [path] = tmp_path.iterdir()
        assert path.read_bytes() == b"".join(content)
        assert path.name.startswith(".")
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IRUSR | stat.S_IWUSR
        with path.open("rb") as file, pytest.raises(OSError, match="unavailable"):
            lock(file)
    one.close()
    one.close()
    assert [*tmp_path.iterdir()] == []


def test_a_write_that_fails_leaves_the_content_before(tmp_path: Path) -> None:
    """And no second file."""

    def fails() -> Iterator[bytes]:
        yield b"x"
        raise OSError("full")

    one = Snapshot(tmp_path)
    one.write([b"first"])
    with pytest.raises(OSError, match="full"):
        one.write(fails())
    [path] = tmp_path.iterdir()
    assert path.read_bytes() == b"first"
    one.close()
