"""Candidates that were tried and the results, kept in a file so that a stopped run can be resumed."""

from __future__ import annotations

import json
import os
from threading import Lock
from typing import IO, TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VERSION: Final = 1


class StateError(ValueError):
    """A state file that cannot be resumed from; the message says why."""


class TriedCandidates:
    """Candidates by their digest, and whether the bug showed. As a context manager it closes its file."""

    def __init__(self) -> None:
        """Keep results in memory only."""
        self._results: dict[str, bool] = {}
        self._file: IO[str] | None = None
        self._lock = Lock()

    @classmethod
    def open(cls, path: Path, about: Mapping[str, object]) -> Self:
        """Resume from the file at `path`, or begin one. `about` identifies the run.

        Raises `StateError` for a file of another run, `OSError`.
        """
        tried = cls()
        header = {"version": VERSION, **about}
        if path.exists():
            tried._load(path, header)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        tried._file = os.fdopen(descriptor, "w", encoding="utf-8")
        tried._write("" if path.stat().st_size else json.dumps(header))  # a last line that was cut off is ended
        return tried

    def get(self, digest: str) -> bool | None:
        """Whether the candidate showed the bug; `None` where it was not tried."""
        return self._results.get(digest)

    def add(self, digest: str, *, shows: bool) -> None:
        """Keep the result of a try."""
        self._results[digest] = shows
        self._write(f"{digest} {int(shows)}")

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _load(self, path: Path, header: Mapping[str, object]) -> None:
        first, *lines = path.read_text(encoding="utf-8", errors="replace").splitlines() or [json.dumps(header)]
        try:
            found = json.loads(first)
        except ValueError as error:
            raise StateError(f"{path} is no state of `toolstream shrink`; name another file") from error
        if found != json.loads(json.dumps(header)):
            raise StateError(f"{path} belongs to another flow, command or version; name another file or remove it")
        for line in lines:
            digest, _, shows = line.partition(" ")
            if shows in {"0", "1"}:  # the last line may be cut off
                self._results[digest] = shows == "1"

    def _write(self, line: str) -> None:
        with self._lock:  # tries may end in several threads, and after the run
            if self._file is not None:
                self._file.write(f"{line}\n")
                self._file.flush()
