from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from toolstream_core.proxy.capture.folder import Folder, QuotaError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIMIT = 1000


def names(path: Path) -> list[str]:
    """All that is there, hidden or not."""
    return sorted(one.name for one in path.iterdir())


def test_a_folder_is_made_for_its_owner(tmp_path: Path) -> None:
    """And so are its files."""
    folder = Folder(tmp_path / "new" / "captures", LIMIT)
    assert folder.made
    assert not Folder(folder.path, LIMIT).made
    written = folder.write("x", 5, [b"he", b"llo"])
    assert (written.name, written.read_bytes()) == ("x-0001.flow", b"hello")
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert written.stat().st_mode & 0o777 == 0o600
    assert names(folder.path) == ["x-0001.flow"]


@pytest.mark.parametrize("linked", [True, False])
def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool) -> None:
    """Names are counted on, also where the file system has no hard links."""
    if not linked:
        monkeypatch.setattr(os, "link", _no_links)
    (tmp_path / "x-0001.flow").write_bytes(b"mine")
    folder = Folder(tmp_path, LIMIT)
    assert [folder.write("x", 1, [b"1"]).name, folder.write("y", 1, [b"2"]).name] == ["x-0002.flow", "y-0003.flow"]
    assert (tmp_path / "x-0001.flow").read_bytes() == b"mine"
    assert len(names(tmp_path)) == 3


def _no_links(*_: object, **__: object) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """Neither a half file nor a hidden one."""

    def full() -> Iterator[bytes]:
        yield b"some"
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = Folder(tmp_path, LIMIT)
    with pytest.raises(OSError, match="No space left"):
        folder.write("x", 10, full())
    assert names(tmp_path) == []


def test_the_quota(tmp_path: Path) -> None:
    """What was there before counts; what was deleted does not."""
    (tmp_path / "old.flow").write_bytes(bytes(LIMIT - 10))
    folder = Folder(tmp_path, LIMIT)
    folder.write("x", 10, [bytes(10)])
    with pytest.raises(QuotaError, match=f"contains {LIMIT} bytes of captures; 1 more exceed the limit"):
        folder.write("y", 1, [b"1"])
    assert len(names(tmp_path)) == 2
    (tmp_path / "old.flow").unlink()
    assert folder.write("y", 1, [b"1"]).exists()


def test_what_a_killed_process_left_is_cleared(tmp_path: Path) -> None:
    """Nothing else is."""
    (tmp_path / ".toolstream-abc.part").write_bytes(b"half a flow")
    (tmp_path / "mine.part").write_bytes(b"not ours")
    Folder(tmp_path, LIMIT)
    assert names(tmp_path) == ["mine.part"]


@pytest.mark.parametrize("below", ["file", "file/folder"])
def test_no_folder(tmp_path: Path, below: str) -> None:
    """A file is none, and has none."""
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"exists|Not a directory"):
        Folder(tmp_path / below, LIMIT)
