"""The saved progress of shrink and check: a header that identifies the run, then a line for each step."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import IO, ClassVar, Self

from toolstream_core.errors import ToolstreamError


class Results[K, V](ABC):
    """Results by key: those of a state file, if there is one, and new ones. As a context manager it closes the file.

    Several threads may add results.
    """

    command: ClassVar[str]
    """The command that the file belongs to."""
    parts: ClassVar[str]
    """What must be the same in both runs, for the error message."""

    def __init__(self, path: Path | None = None, about: Mapping[str, object] | None = None) -> None:
        """Continue the file at `path`, or create one that only its owner can read; without it, keep nothing.

        `about` has to be the same in both runs. Raises `ToolstreamError` for the file of another run, `OSError`.
        """
        self._known: dict[K, V] = {}
        self._lock = Lock()
        self._file: IO[str] | None = None
        if path is None:
            return
        header = json.dumps({self.command: 1, **(about or {})})
        lines = self._lines(path, header) if path.exists() else []
        self._known.update(one for line in lines if (one := self.read(line)) is not None)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._file = os.fdopen(descriptor, "w", encoding="utf-8")
        self._write("" if path.stat().st_size else header)  # ends a truncated last line

    @abstractmethod
    def read(self, line: str) -> tuple[K, V] | None:
        """The key and the result in a line, which may be truncated; `None` if it has none."""

    @abstractmethod
    def line(self, key: K, result: V) -> str:
        """The line of a result."""

    def get(self, key: K) -> V | None:
        """The result of a key, if there is one."""
        return self._known.get(key)

    def add(self, key: K, result: V) -> None:
        """Keep a result."""
        self._known[key] = result
        self._write(self.line(key, result))

    def __enter__(self) -> Self:
        """Return the results."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the file; later results are kept in memory only."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _write(self, line: str) -> None:
        with self._lock:
            if self._file is not None:
                self._file.write(f"{line}\n")
                self._file.flush()

    def _lines(self, path: Path, header: str) -> list[str]:
        """The lines after the header."""
        first, *lines = path.read_text(encoding="utf-8", errors="replace").splitlines() or [header]
        try:
            found = json.loads(first)
        except ValueError:
            found = None
        if not isinstance(found, dict) or self.command not in found:
            raise ToolstreamError(f"{path} is not a state file of `{self.command}`; name another file")
        if found != json.loads(header):
            raise ToolstreamError(f"{path} belongs to another {self.parts} or version; name another file or remove it")
        return lines
