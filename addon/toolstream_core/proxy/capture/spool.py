"""Bytes kept until a flow is over: in memory while they are few, then in a hidden file."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from toolstream_core.proxy.capture import locks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HIDDEN = ".toolstream-"
SPOOL = ".spool"
"""Prefix and suffix of a spool that can be recovered."""
OWN = 1024 * 1024
"""Bytes that such a spool keeps in memory."""
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

    The file is its owner's alone. Without a `head` it has no name wherever the system can do that. With one, its name
    is hidden and it is locked: after a kill of the process, a later start finds the head and the bytes in it.
    """

    def __init__(self, folder: Path, memory: Memory, head: Callable[[], bytes] | None = None) -> None:
        """The file is made in `folder`, so that it needs no other disk than what is written in the end.

        `head` gives what stands before the bytes in the file.
        """
        self._folder = folder
        self._head = head
        self._begin = 0
        self._name: Path | None = None
        self._memory = memory
        self._kept: list[bytes] = []
        self._file: IO[bytes] | None = None
        self.size = 0
        """Bytes taken."""

    def write(self, data: bytes) -> None:
        """Take `data`. Raises `OSError` where the disk is full."""
        room = self._memory.room if self._head is None else min(self._memory.room, OWN - self.size)
        if self._file is None and len(data) <= room:
            self._memory.room -= len(data)
            self._kept.append(data)
        else:
            file = self._to_file()
            file.write(data)
            file.flush()
        self.size += len(data)

    @property
    def has_name(self) -> bool:
        """Whether a later start finds it."""
        return self._name is not None

    def pieces(self) -> Iterator[bytes]:
        """All that was taken."""
        yield from self._kept
        if self._file is not None:
            self._file.seek(self._begin)
            while piece := self._file.read(PIECE):
                yield piece

    def close(self) -> None:
        """Forget it all."""
        self._forget()
        if self._name is not None:
            with contextlib.suppress(OSError):
                self._name.unlink()
        if self._file is not None:
            self._file.close()

    def _to_file(self) -> IO[bytes]:
        """The file, which has what was in memory, too."""
        if self._file is None:
            self._file = self._made()
            self._file.writelines(self._kept)
            self._forget()
        return self._file

    def _made(self) -> IO[bytes]:
        if self._head is None:
            return tempfile.TemporaryFile(dir=str(self._folder), prefix=HIDDEN, suffix=".part")
        descriptor, name = tempfile.mkstemp(SPOOL, HIDDEN, self._folder)
        self._name, file = Path(name), os.fdopen(descriptor, "w+b")
        locks.lock(file)
        self._begin = file.write(self._head())
        return file

    def _forget(self) -> None:
        self._memory.room += sum(map(len, self._kept))
        self._kept = []
