"""Bytes kept until a flow is over: in memory while they are few, then in a file that has no name."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MEMORY = 256 * 1024
"""Bytes up to which there is no file."""
PIECE = 64 * 1024
"""Bytes that are read back at once."""


class Spool:
    """Takes bytes and gives them back once.

    The file is its owner's alone and has no name wherever the system can do that: a process that is killed leaves
    nothing behind.
    """

    def __init__(self, folder: Path) -> None:
        """The file is made in `folder`, so that it needs no other disk than what is written in the end."""
        self._file = tempfile.SpooledTemporaryFile(MEMORY, dir=str(folder), prefix=".toolstream-", suffix=".part")  # noqa: SIM115 - closed in `close`
        self.size = 0
        """Bytes taken."""

    def write(self, data: bytes) -> None:
        """Take `data`. Raises `OSError` where the disk is full."""
        self._file.write(data)
        self.size += len(data)

    def pieces(self) -> Iterator[bytes]:
        """All that was taken."""
        self._file.seek(0)
        while piece := self._file.read(PIECE):
            yield piece

    def close(self) -> None:
        """Forget it all."""
        self._file.close()
