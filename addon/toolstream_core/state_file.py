"""The saved progress of shrink and check: a header that identifies the run, then a line for each step."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from threading import Lock
from typing import IO, TYPE_CHECKING, Self

from toolstream_core.errors import ToolstreamError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class StateFile:
    """The lines so far. Several threads may add lines."""

    def __init__(self, path: Path, about: Mapping[str, object], *, command: str, parts: str) -> None:
        """Continue the file at `path`, or create one that only its owner can read.

        `about` has to be the same in both runs of `command`; `parts` describes it for people. Raises
        `ToolstreamError` for the file of another run, `OSError`.
        """
        header = json.dumps({command: 1, **about})
        self.lines: list[str] = []
        """The lines after the header; the last one may be truncated."""
        if path.exists():
            self.lines = _read(path, header, command, parts)
        self._lock = Lock()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._file: IO[str] | None = os.fdopen(descriptor, "w", encoding="utf-8")
        self.write("" if path.stat().st_size else header)  # ends a truncated last line

    def write(self, line: str) -> None:
        """Add a line, unless the file is closed."""
        with self._lock:
            if self._file is not None:
                self._file.write(f"{line}\n")
                self._file.flush()

    def close(self) -> None:
        """Close the file; later lines are ignored."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None


class Results[K, V](ABC):
    """Results by key: those of a state file, if there is one, and new ones. As a context manager it closes the file."""

    def __init__(self, file: StateFile | None = None) -> None:
        """Without a file, results are kept in memory only."""
        self._file = file
        lines = file.lines if file is not None else ()
        self._known: dict[K, V] = dict(one for line in lines if (one := self.read(line)) is not None)

    @abstractmethod
    def read(self, line: str) -> tuple[K, V] | None:
        """The key and the result in a line; `None` if it has none."""

    @abstractmethod
    def line(self, key: K, result: V) -> str:
        """The line of a result."""

    def get(self, key: K) -> V | None:
        """The result of a key, if there is one."""
        return self._known.get(key)

    def add(self, key: K, result: V) -> None:
        """Keep a result."""
        self._known[key] = result
        if self._file is not None:
            self._file.write(self.line(key, result))

    def __enter__(self) -> Self:
        """Return the results."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


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
