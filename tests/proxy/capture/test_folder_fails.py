"""Folders that cannot be written to, and processes that are killed while they write."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from toolstream_core.proxy.capture.folder import Folder
from toolstream_core.proxy.capture.spool import PIECE, Memory, Spool

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 10**9
NOBODY = 65534
PIECES = 64


def write_half(path: Path, said: int) -> None:
    """Write a long body, say so when half of it is there, and wait."""
    folder = Folder(path, LIMIT)
    spool = Spool(path, Memory(0))
    for _ in range(PIECES):
        spool.write(b"x" * PIECE)

    def chunks() -> Iterator[bytes]:
        yield from spool.chunks()
        os.write(said, b"half")
        time.sleep(60)

    folder.write("x", 2 * spool.size, chunks())


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[int]:
    """A process that is in the middle of a write."""
    told, said = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child needs no thread of ours
        process = os.fork()
    if not process:
        try:
            write_half(tmp_path, said)
        finally:
            os._exit(1)
    assert os.read(told, 4) == b"half"
    try:
        yield process
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(told)
        os.close(said)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no file that is open")
def test_killed_while_it_writes(tmp_path: Path, writer: int) -> None:
    """With a long body under way nothing stands there that reads as a capture; the next start clears the rest."""
    [part] = tmp_path.iterdir()
    assert part.stat().st_size >= (PIECES - 1) * PIECE
    Folder(tmp_path, LIMIT)
    assert list(tmp_path.iterdir()) == [part], "it is still being written"
    os.kill(writer, signal.SIGKILL)
    os.waitid(os.P_PID, writer, os.WEXITED | os.WNOWAIT)
    assert [one.name[0] for one in tmp_path.iterdir()] == ["."]
    folder = Folder(tmp_path, LIMIT)
    assert not list(tmp_path.iterdir())
    assert folder.write("x", 2, [b"ok"]).read_bytes() == b"ok"


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A folder that its owner may not write to; root, who may write anywhere, is somebody else for that time."""
    with tempfile.TemporaryDirectory() as made:
        path, root = Path(made), os.geteuid() == 0
        if root:
            os.chown(path, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            path.chmod(0o500)
            yield path
            path.chmod(0o700)
        finally:
            if root:
                os.seteuid(0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_folder_that_may_not_be_written_to(read_only: Path) -> None:
    """It is told before anything is to be kept, and what comes later fails as a whole."""
    with pytest.raises(PermissionError):
        Folder(read_only, LIMIT)
    read_only.chmod(0o700)
    folder, spool = Folder(read_only, LIMIT), Spool(read_only, Memory(0))
    read_only.chmod(0o500)
    with pytest.raises(PermissionError):
        folder.write("x", 2, [b"ok"])
    with pytest.raises(PermissionError):
        spool.write(b"x" * 2**20)
    spool.close()
    assert not list(read_only.iterdir())
