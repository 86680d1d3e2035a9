"""The saved progress of shrink and check: a header that identifies the run, then a line for each step."""

from __future__ import annotations

import json
import os
from threading import Lock
from typing import IO, TYPE_CHECKING

from toolstream_core.errors import ToolstreamError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class StateFile:
    """The lines so far, and those that are added, by several threads perhaps."""

    def __init__(self, path: Path, about: Mapping[str, object], *, command: str, parts: str) -> None:
        """Go on from the file at `path`, or begin one, for its owner's eyes.

        `about` has to be the same in both runs of `command`; `parts` says for people what that is. Raises
        `ToolstreamError` for the file of another run, `OSError`.
        """
        header = json.dumps({command: 1, **about})
        self.lines: list[str] = []
        """What stands behind the header; the last one may be cut off."""
        if path.exists():
            self.lines = _read(path, header, command, parts)
        self._lock = Lock()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._file: IO[str] | None = os.fdopen(descriptor, "w", encoding="utf-8")
        self.write("" if path.stat().st_size else header)  # a last line that was cut off is ended

    def write(self, line: str) -> None:
        """Add a line; nothing where the file is closed."""
        with self._lock:
            if self._file is not None:
                self._file.write(f"{line}\n")
                self._file.flush()

    def close(self) -> None:
        """Add nothing more."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None


def _read(path: Path, header: str, command: str, parts: str) -> list[str]:
    first, *lines = path.read_text(encoding="utf-8", errors="replace").splitlines() or [header]
    try:
        found = json.loads(first)
    except ValueError:
        found = None
    if not isinstance(found, dict) or command not in found:
        raise ToolstreamError(f"{path} is not a state file of `{command}`; name another file")
    if found != json.loads(header):
        raise ToolstreamError(f"{path} belongs to another {parts} or version; name another file or remove it")
    return lines
