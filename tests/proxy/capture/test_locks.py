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


def test_what_a_living_process_holds_stays(tmp_path: Path) -> None:
    """However the process ends, its lock goes with it."""
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
    remove_unlocked(path)  # nothing to do


def test_one_that_was_just_made_stays(tmp_path: Path) -> None:
    """Its owner has not locked it yet; after a while nobody will."""
    path = tmp_path / "x.part"
    path.touch()
    remove_unlocked(path)
    assert path.exists()
    before = time.time() - 2 * YOUNG
    os.utime(path, (before, before))
    remove_unlocked(path)
    assert not path.exists()


def test_a_lock_is_gone_when_the_file_is_closed(tmp_path: Path) -> None:
    """Nothing is left to undo."""
    path = tmp_path / "x.part"
    path.write_bytes(b"half")
    with path.open("rb") as file:
        lock(file)
        remove_unlocked(path)
        assert path.exists()
    remove_unlocked(path)
    assert not path.exists()
