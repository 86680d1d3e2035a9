"""Bytes kept until a flow is over: in memory while all flows have few, then in a file that has no name."""

from __future__ import annotations

import tempfile
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MEMORY = 8 * 1024 * 1024
"""Bytes that all spools together keep in memory."""
PIECE = 64 * 1024
"""Bytes that are read back from a file at once."""


class Memory:
    """What is left of the memory that spools share. Used by the writer's thread alone."""

    def __init__(self, room: int = MEMORY) -> None:
        """`room` in bytes."""
        self.room = room


class Spool:
    """Takes bytes and gives them back once.

    The file is its owner's alone and has no name wherever the system can do that: a process that is killed leaves
    nothing behind.
    """

    def __init__(self, folder: Path, memory: Memory) -> None:
        """The file is made in `folder`, so that it needs no other disk than what is written in the end."""
        self._folder = folder
        self._memory = memory
        self._kept: list[bytes] = []
        self._file: IO[bytes] | None = None
        self.size = 0
        """Bytes taken."""

    def write(self, data: bytes) -> None:
        """Take `data`. Raises `OSError` where the disk is full."""
        if self._file is None and len(data) <= self._memory.room:
            self._memory.room -= len(data)
            self._kept.append(data)
        else:
            self._to_file().write(data)
        self.size += len(data)

    def pieces(self) -> Iterator[bytes]:
        """All that was taken."""
        yield from self._kept
        if self._file is not None:
            self._file.seek(0)
            while piece := self._file.read(PIECE):
                yield piece

    def close(self) -> None:
        """Forget it all."""
        self._forget()
        if self._file is not None:
            self._file.close()

    def _to_file(self) -> IO[bytes]:
        """The file, which has what was in memory, too."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=str(self._folder), prefix=".toolstream-", suffix=".part")  # noqa: SIM115 - closed in `close`
            self._file.writelines(self._kept)
            self._forget()
        return self._file

    def _forget(self) -> None:
        self._memory.room += sum(map(len, self._kept))
        self._kept = []
