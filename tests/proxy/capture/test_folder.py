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


def file_names(path: Path) -> list[str]:
    """Return the names of all files, including hidden ones."""
    return sorted(file.name for file in path.iterdir())


def test_folder_and_files_are_private(tmp_path: Path) -> None:
    """Only the owner may read the folder and its files."""
    folder = Folder(tmp_path / "new" / "captures", LIMIT)
    assert folder.made
    assert not Folder(folder.path, LIMIT).made
    written = folder.write("x", 5, [b"he", b"llo"])
    assert (written.name, written.read_bytes()) == ("x-0001.flow", b"hello")
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert written.stat().st_mode & 0o777 == 0o600
    assert file_names(folder.path) == ["x-0001.flow"]


@pytest.mark.parametrize("linked", [True, False])
def test_an_existing_file_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool) -> None:
    """File names are numbered, also on a file system without hard links."""
    if not linked:
        monkeypatch.setattr(os, "link", _no_links)
    (tmp_path / "x-0001.flow").write_bytes(b"mine")
    folder = Folder(tmp_path, LIMIT)
    assert [folder.write("x", 1, [b"1"]).name, folder.write("y", 1, [b"2"]).name] == ["x-0002.flow", "y-0003.flow"]
    assert (tmp_path / "x-0001.flow").read_bytes() == b"mine"
    assert len(file_names(tmp_path)) == 3


def _no_links(*_: object, **__: object) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


def test_a_failed_write_leaves_no_file(tmp_path: Path) -> None:
    """A failed write leaves neither an incomplete nor a hidden file."""

    def full() -> Iterator[bytes]:
        yield b"some"
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = Folder(tmp_path, LIMIT)
    with pytest.raises(OSError, match="No space left"):
        folder.write("x", 10, full())
    assert file_names(tmp_path) == []


def test_the_size_limit(tmp_path: Path) -> None:
    """Files that were there before count towards the limit; deleted files do not."""
    (tmp_path / "old.flow").write_bytes(bytes(LIMIT - 10))
    folder = Folder(tmp_path, LIMIT)
    folder.write("x", 10, [bytes(10)])
    with pytest.raises(QuotaError, match=f"contains {LIMIT} bytes of captures; 1 more exceed the limit"):
        folder.write("y", 1, [b"1"])
    assert len(file_names(tmp_path)) == 2
    (tmp_path / "old.flow").unlink()
    assert folder.write("y", 1, [b"1"]).exists()


def test_files_of_killed_processes_are_deleted(tmp_path: Path) -> None:
    """Only unfinished files of toolstream are deleted."""
    (tmp_path / ".toolstream-abc.part").write_bytes(b"half a flow")
    (tmp_path / "mine.part").write_bytes(b"not ours")
    Folder(tmp_path, LIMIT)
    assert file_names(tmp_path) == ["mine.part"]


@pytest.mark.parametrize("below", ["file", "file/folder"])
def test_a_path_through_a_file_is_rejected(tmp_path: Path, below: str) -> None:
    """A file is no folder for captures and contains none."""
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"exists|Not a directory"):
        Folder(tmp_path / below, LIMIT)
