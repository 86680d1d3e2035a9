"""Cases that were run and what came of them, kept in a file so that an interrupted check can go on."""

from __future__ import annotations

import json
import os
from typing import IO, TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_VERSION: Final = 1


class StateError(ValueError):
    """A file that a check cannot go on from; the message says why."""


class CheckState:
    """Finished cases by client and id. As a context manager it closes its file."""

    def __init__(self) -> None:
        """Keep them in memory only."""
        self._cases: dict[tuple[str, str], dict[str, Any]] = {}
        self._file: IO[str] | None = None

    @classmethod
    def open(cls, path: Path, about: Mapping[str, object]) -> Self:
        """Go on from the file at `path`, or begin one; `about` is what has to be the same in both runs.

        Raises `StateError` for a file of another check, `OSError`.
        """
        state = cls()
        header = {"toolstream-check": _VERSION, **about}
        if path.exists():
            state._load(path, header)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        state._file = os.fdopen(descriptor, "w", encoding="utf-8")
        state._write("" if path.stat().st_size else json.dumps(header))  # a last line that was cut off is ended
        return state

    def get(self, client: str, identity: str) -> dict[str, Any] | None:
        """A finished case; `None` where it was not run, or has to be run again."""
        return self._cases.get((client, identity))

    def add(self, client: str, case: dict[str, Any]) -> None:
        """Keep a case that was run."""
        self._cases[client, case["id"]] = case
        self._write(json.dumps({"client": client, "case": case}))

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _load(self, path: Path, header: Mapping[str, object]) -> None:
        first, *lines = path.read_text(encoding="utf-8", errors="replace").splitlines() or [json.dumps(header)]
        found = _parsed(first)
        if not isinstance(found, dict) or "toolstream-check" not in found:
            raise StateError(f"{path} is no state of `toolstream check`; name another file")
        if found != json.loads(json.dumps(header)):
            raise StateError(f"{path} belongs to another command, calls or version; name another file or remove it")
        for line in lines:
            entry = _parsed(line)
            if isinstance(entry, dict):  # the last line may be cut off
                self._cases[entry["client"], entry["case"]["id"]] = entry["case"]

    def _write(self, line: str) -> None:
        if self._file is not None:
            self._file.write(f"{line}\n")
            self._file.flush()


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
