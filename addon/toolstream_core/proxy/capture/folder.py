"""The folder of captures: their names, atomic writing, locks, a quota. Knows the file system."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be deleted
    fcntl = None  # type: ignore[assignment]


YOUNG = 2.0
"""Seconds during which a file may be empty and unlocked because its owner has just made it."""


def lock(file: IO[bytes]) -> None:
    """Lock an open file until it is closed. Raises `OSError` if another process has locked it."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_unlocked(path: Path) -> None:
    """Delete a file that no process has locked, if possible."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        lock(file)
        status = path.stat()
        if status.st_size or time.time() - status.st_mtime > YOUNG:
            path.unlink()


SUFFIX = ".flow"
PART = ".part"
"""Suffix of a file during writing."""
HIDDEN = ".toolstream-"
"""Prefix of files that are not complete captures."""


class QuotaError(Exception):
    """The captures would exceed the quota of the folder."""


class Folder:
    """Writes captures with mode 0600."""

    def __init__(self, path: Path, limit: int) -> None:
        """Make the folder if it is missing, and delete incomplete files of killed processes; `limit` in bytes.

        Raises `OSError` if the folder is not writable.
        """
        self.path = path
        self.limit = limit
        self.made = not path.exists()
        """Whether the folder is new."""
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass  # it can be written to
        for part in path.glob(f"{HIDDEN}*{PART}"):
            remove_unlocked(part)
        self._used = self._measured()
        self._written = 0

    def make_room(self, size: int) -> None:
        """Check that `size` more bytes may be written. Raises `QuotaError`."""
        if self._used + size <= self.limit:
            return
        self._used = self._measured()  # some may have been deleted
        if self._used + size > self.limit:
            raise QuotaError(f"{self.path} contains {self._used} bytes of captures; {size} more exceed the limit")

    def write(self, stem: str, size: int, chunks: Iterable[bytes]) -> Path:
        """Write `size` bytes to a new file, `STEM-NNNN.flow`, or nothing. Raises `OSError` and `QuotaError`."""
        self.make_room(size)
        descriptor, name = tempfile.mkstemp(PART, HIDDEN, self.path)
        part = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            try:
                lock(file)
                _write(file, chunks)
                final = self._publish(part, stem)
            except BaseException:
                with contextlib.suppress(OSError):
                    part.unlink()
                raise
        self._used += size
        return final

    def _publish(self, part: Path, stem: str) -> Path:
        """Rename a complete file to its name; an existing file is never overwritten."""
        while True:
            self._written += 1
            final = self.path / f"{stem}-{self._written:04}{SUFFIX}"
            try:
                final.hardlink_to(part)
            except FileExistsError:
                continue
            except OSError:  # a file system without hard links
                if final.exists():
                    continue
                part.rename(final)
            else:
                part.unlink()
            return final

    def _measured(self) -> int:
        sizes = 0
        for one in self.path.glob(f"*{SUFFIX}"):
            with contextlib.suppress(OSError):
                sizes += one.stat().st_size
        return sizes


def _write(file: IO[bytes], chunks: Iterable[bytes]) -> None:
    """Write all parts: the file has them even if this process is killed. Raises `OSError`.

    The system writes them to the disk in its own time: a power failure may cost the last captures, or cut them off,
    and a truncated one does not read as complete. mitmproxy's own dumps, VCR's cassettes and git's loose objects are
    kept so, too (https://git-scm.com/docs/git-config#Documentation/git-config.txt-corefsync); to wait for the disk,
    capture by capture, would take longer than all that is done to most of them.
    """
    for chunk in chunks:
        file.write(chunk)
    file.flush()
    os.close(os.dup(file.fileno()))  # network file systems report write errors only now


MAX_MODEL = 60
"""Characters of a model's name that are kept."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def stem(started: float, protocol: str, model: str | None) -> str:
    """The name of a capture without its counter and suffix; `started` in seconds since 1970.

    `20261122-061500.123-openai-chat-gpt-4.1-mini`, in UTC.
    """
    when = datetime.fromtimestamp(started, UTC)
    day, milliseconds = when.strftime("%Y%m%d-%H%M%S"), when.microsecond // 1000
    return f"{day}.{milliseconds:03}-{escaped(protocol) or 'unknown'}-{escaped(model or '') or 'no-model'}"


def escaped(text: str) -> str:
    """`text` as a part of a file's name: only letters, digits, `.`, `_` and `-`, without a leading dot."""
    return _UNSAFE.sub("_", text)[:MAX_MODEL].strip("._-")
