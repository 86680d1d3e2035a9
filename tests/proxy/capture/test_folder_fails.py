"""Folders without write permission, and processes that are killed while they write."""

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
from toolstream_core.proxy.capture.spool import READ_SIZE, Spool

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 10**9
NOBODY = 65534
CHUNK_COUNT = 64


def write_first_half(path: Path, ready: int) -> None:
    """Write the first half of a long body, signal it through the pipe `ready`, and wait."""
    folder = Folder(path, LIMIT)
    spool = Spool(path)
    for _ in range(CHUNK_COUNT):
        spool.write(b"x" * READ_SIZE)

    def chunks() -> Iterator[bytes]:
        yield from spool.chunks()
        os.write(ready, b"half")
        time.sleep(60)

    folder.write("x", 2 * spool.size, chunks())


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[int]:
    """Start a process that stops in the middle of a write, and return its id."""
    receiver, ready = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child uses no thread of this process
        process = os.fork()
    if not process:
        try:
            write_first_half(tmp_path, ready)
        finally:
            os._exit(1)
    assert os.read(receiver, 4) == b"half"
    try:
        yield process
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(receiver)
        os.close(ready)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no file that is open")
def test_a_process_killed_during_a_write(tmp_path: Path, writer: int) -> None:
    """A process killed during a write leaves only a hidden file, and the next start deletes it."""
    [part] = tmp_path.iterdir()
    assert part.stat().st_size >= (CHUNK_COUNT - 1) * READ_SIZE
    Folder(tmp_path, LIMIT)
    assert list(tmp_path.iterdir()) == [part], "the file is still being written"
    os.kill(writer, signal.SIGKILL)
    os.waitid(os.P_PID, writer, os.WEXITED | os.WNOWAIT)
    assert [path.name[0] for path in tmp_path.iterdir()] == ["."]
    folder = Folder(tmp_path, LIMIT)
    assert not list(tmp_path.iterdir())
    assert folder.write("x", 2, [b"ok"]).read_bytes() == b"ok"


@pytest.fixture
def read_only() -> Iterator[Path]:
    """Yield a folder without write permission; root becomes another user meanwhile, as root may always write."""
    with tempfile.TemporaryDirectory() as folder:
        path, root = Path(folder), os.geteuid() == 0
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
def test_a_read_only_folder(read_only: Path) -> None:
    """The folder is rejected at the start; a folder that becomes read-only later fails each write."""
    with pytest.raises(PermissionError):
        Folder(read_only, LIMIT)
    read_only.chmod(0o700)
    folder, spool = Folder(read_only, LIMIT), Spool(read_only)
    read_only.chmod(0o500)
    with pytest.raises(PermissionError):
        folder.write("x", 2, [b"ok"])
    with pytest.raises(PermissionError):
        spool.write(b"x" * 2**20)
    spool.close()
    assert not list(read_only.iterdir())
