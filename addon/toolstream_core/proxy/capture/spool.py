"""Files with the captured bytes of an unfinished response. Knows the file system.

They have mode 0600, and contain only redacted bytes. Those with a name are hidden and locked: after a kill of the
proxy, `recovery` finds them.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from toolstream_core.proxy.capture.folder import HIDDEN, PART, lock

SPOOL = ".spool"
"""Suffix of a spool that can be recovered."""
OWN = 1024 * 1024
"""Bytes of a spool that are kept in memory."""
MEMORY = 8 * 1024 * 1024
"""Bytes that all spools together keep in memory."""
READ_SIZE = 64 * 1024
"""Bytes that are read back from a file at once."""


class Memory:
    """The memory that spools share. Used only by the worker's thread."""

    def __init__(self, width: int = MEMORY) -> None:
        """`room` in bytes."""
        self.room = width


class Spool:
    """Takes bytes and returns them once.

    Long ones are in a file. Without a `head` it has no name, if the system supports that. With a head it has a hidden
    name and is locked, and contains the head and the bytes.
    """

    def __init__(self, folder: Path, memory: Memory, head: Callable[[], bytes] | None = None) -> None:
        """The file is made in `folder`: on the disk of the complete capture. `head` returns the head of the file."""
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
        """Append `data`. Raises `OSError` if the disk is full."""
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
        """Whether `recovery` finds it."""
        return self._name is not None

    def chunks(self) -> Iterator[bytes]:
        """All bytes."""
        yield from self._kept
        if self._file is not None:
            self._file.seek(self._begin)
            while block := self._file.read(READ_SIZE):
                yield block

    def close(self) -> None:
        """Delete the bytes and the file."""
        self._forget()
        if self._name is not None:
            with contextlib.suppress(OSError):
                self._name.unlink()
        if self._file is not None:
            self._file.close()

    def _to_file(self) -> IO[bytes]:
        """The file, with the bytes that were in memory."""
        if self._file is None:
            self._file = self._made()
            self._file.writelines(self._kept)
            self._forget()
        return self._file

    def _made(self) -> IO[bytes]:
        if self._head is None:
            return tempfile.TemporaryFile(dir=str(self._folder), prefix=HIDDEN, suffix=PART)
        descriptor, name = tempfile.mkstemp(SPOOL, HIDDEN, self._folder)
        self._name, file = Path(name), os.fdopen(descriptor, "w+b")
        lock(file)
        self._begin = file.write(self._head())
        return file

    def _forget(self) -> None:
        self._memory.room += sum(map(len, self._kept))
        self._kept = []


class Snapshot:
    """A locked file of mode 0600 that each write replaces. Used only by the writer's thread."""

    def __init__(self, folder: Path) -> None:
        """No file is made before the first write to `folder`."""
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._path: Path | None = None

    def write(self, chunks: Iterable[bytes]) -> None:
        """Replace the content: a kill leaves the old or the new one. Raises `OSError`."""
        descriptor, name = tempfile.mkstemp(SPOOL, HIDDEN, self._folder)
        new, path = os.fdopen(descriptor, "wb"), Path(name)
        try:
            lock(new)
            new.writelines(chunks)
            new.flush()
            if self._path is not None:
                path.replace(self._path)
        except BaseException:
            new.close()
            path.unlink(missing_ok=True)
            raise
        if self._file is not None:
            self._file.close()
        self._file, self._path = new, self._path or path

    def close(self) -> None:
        """Delete the file."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
        if self._file is not None:
            self._file.close()
        self._file = self._path = None
