"""Candidates that were tried and the results, kept in a file so that a stopped run can be resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from toolstream_core.state_file import StateFile

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class TriedCandidates:
    """Candidates by their digest, and whether the bug showed. As a context manager it closes its file."""

    def __init__(self, file: StateFile | None = None) -> None:
        """Those that `file` has; without it, results are kept in memory only."""
        self._file = file
        self._results: dict[str, bool] = {}
        for line in file.lines if file is not None else ():
            digest, _, shows = line.partition(" ")
            if shows in {"0", "1"}:
                self._results[digest] = shows == "1"

    @classmethod
    def open(cls, path: Path, about: Mapping[str, object]) -> Self:
        """As `StateFile`."""
        return cls(StateFile(path, about, command="toolstream shrink", parts="flow, command"))

    def get(self, digest: str) -> bool | None:
        """Whether the candidate showed the bug; `None` where it was not tried."""
        return self._results.get(digest)

    def add(self, digest: str, *, shows: bool) -> None:
        """Keep the result of a try."""
        self._results[digest] = shows
        if self._file is not None:
            self._file.write(f"{digest} {int(shows)}")

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
