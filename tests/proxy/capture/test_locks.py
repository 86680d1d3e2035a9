from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from toolstream_core.proxy.capture.folder import YOUNG, lock, remove_unlocked

HOLDER = """
import sys
from toolstream_core.proxy.capture.folder import lock
file = open(sys.argv[1], "rb")
lock(file)
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_file_locked_by_a_running_process_stays(tmp_path: Path) -> None:
    """The lock of a process ends with the process, even if it is killed."""
    path = tmp_path / "x.part"
    path.write_bytes(b"half")
    command = [sys.executable, "-c", HOLDER, str(path)]
    addon = str(Path(__file__).resolve().parents[3] / "addon")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": addon}
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"locked"
        remove_unlocked(path)
        assert path.exists()
        holder.kill()
    remove_unlocked(path)
    assert not path.exists()
    remove_unlocked(path)


def test_a_new_file_without_a_lock_stays(tmp_path: Path) -> None:
    """A file gets its lock shortly after it is created; an older file without a lock is deleted."""
    path = tmp_path / "x.part"
    path.touch()
    remove_unlocked(path)
    assert path.exists()
    before = time.time() - 2 * YOUNG
    os.utime(path, (before, before))
    remove_unlocked(path)
    assert not path.exists()


def test_closing_a_file_releases_its_lock(tmp_path: Path) -> None:
    """A file that was closed can be removed."""
    path = tmp_path / "x.part"
    path.write_bytes(b"half")
    with path.open("rb") as file:
        lock(file)
        remove_unlocked(path)
        assert path.exists()
    remove_unlocked(path)
    assert not path.exists()
