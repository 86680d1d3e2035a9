"""A hidden file that holds a capture as it is so far, for the start after a kill of the proxy."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from toolstream_core.proxy.capture.body import HIDDEN, SPOOL
from toolstream_core.proxy.capture.folder import lock

if TYPE_CHECKING:
    from collections.abc import Iterable


class Snapshot:
    """A locked file of mode 0600 that each write replaces. Used by the writer's thread alone."""

    def __init__(self, folder: Path) -> None:
        """No file is made before the first write to `folder`."""
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._path: Path | None = None

    def write(self, pieces: Iterable[bytes]) -> None:
        """Replace the content: a kill leaves the old or the new one. Raises `OSError`."""
        descriptor, name = tempfile.mkstemp(SPOOL, HIDDEN, self._folder)
        new, path = os.fdopen(descriptor, "wb"), Path(name)
        try:
            lock(new)
            new.writelines(pieces)
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
