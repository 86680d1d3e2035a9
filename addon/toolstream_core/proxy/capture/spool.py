"""Files with the captured bytes of an unfinished response, redacted, with mode 0600. Knows the file system."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from toolstream_core.proxy.capture.folder import HIDDEN, PART, lock

SPOOL = ".spool"
"""Suffix of a snapshot, from which `recovery` makes a capture."""
OWN = 64 * 1024
"""Bytes of a spool that are kept in memory."""
READ_SIZE = 64 * 1024
"""Bytes that are read back from a file at once."""


class Spool:
    """Keeps bytes: in memory if they are few, else in a file, which has no name if the system supports that."""

    def __init__(self, folder: Path) -> None:
        """The file is made in `folder`: on the disk of the complete capture."""
        self._file = tempfile.SpooledTemporaryFile(OWN, dir=str(folder), prefix=HIDDEN, suffix=PART)  # noqa: SIM115
        self.size = 0
        """Bytes taken."""

    def write(self, data: bytes) -> None:
        """Append `data`. Raises `OSError` if the disk is full."""
        self._file.seek(self.size)
        self._file.write(data)
        self._file.flush()
        self.size += len(data)

    def chunks(self) -> Iterator[bytes]:
        """All bytes."""
        self._file.seek(0)
        yield from iter(lambda: self._file.read(READ_SIZE), b"")

    def close(self) -> None:
        """Delete the bytes and the file."""
        self._file.close()


class Snapshot:
    """A hidden, locked file that each write replaces. Used only by the worker's thread."""

    def __init__(self, folder: Path) -> None:
        """No file is made before the first write to `folder`."""
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._path: Path | None = None

    def write(self, chunks: Iterable[bytes]) -> None:
        """Replace the content: a kill leaves the old or the new one. Raises `OSError`."""
        descriptor, name = tempfile.mkstemp(PART, HIDDEN, self._folder)
        new, path = os.fdopen(descriptor, "wb"), Path(name)
        whole = self._path or path.with_suffix(SPOOL)
        try:
            lock(new)
            new.writelines(chunks)
            new.flush()
            path.replace(whole)
        except BaseException:
            new.close()
            path.unlink(missing_ok=True)
            raise
        if self._file is not None:
            self._file.close()
        self._file, self._path = new, whole

    def close(self) -> None:
        """Delete the file."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
        if self._file is not None:
            self._file.close()
        self._file = self._path = None
