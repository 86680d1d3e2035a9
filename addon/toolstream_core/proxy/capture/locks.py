"""Whether a file belongs to a process that lives: its lock goes with the process, however that ends."""

from __future__ import annotations

import contextlib
import time
from typing import IO, TYPE_CHECKING

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be deleted at all
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from pathlib import Path

YOUNG = 2.0
"""Seconds within which a file may be empty because its owner has just made it."""


def lock(file: IO[bytes]) -> None:
    """Lock an open file until it is closed. Raises `OSError` where another process has locked it."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_unlocked(path: Path) -> None:
    """Delete a file that nobody has locked; where that cannot be done, it stays."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        lock(file)
        said = path.stat()
        if said.st_size or time.time() - said.st_mtime > YOUNG:
            path.unlink()
