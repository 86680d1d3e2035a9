"""Finished cases and their results, kept in a file so that an interrupted check can continue."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from toolstream_core.checking.document import VERSION, rename_reason
from toolstream_core.state_file import StateFile

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class CheckState:
    """Finished cases by client and id. As a context manager it closes its file."""

    def __init__(self, file: StateFile | None = None) -> None:
        """Reads the cases of `file`; without it, cases are kept in memory only."""
        self._file = file
        self._cases: dict[tuple[str, str], dict[str, Any]] = {}
        for line in file.lines if file is not None else ():
            if isinstance(entry := _parsed(line), dict):
                rename_reason(entry["case"])
                self._cases[entry["client"], entry["case"]["id"]] = entry["case"]

    @classmethod
    def open(cls, path: Path, about: Mapping[str, object]) -> Self:
        """As `StateFile`."""
        return cls(StateFile(path, {**about, "version": VERSION}, command="toolstream check", parts="command, calls"))

    def get(self, client: str, identity: str) -> dict[str, Any] | None:
        """A finished case; `None` if it was not run, or has to run again."""
        return self._cases.get((client, identity))

    def add(self, client: str, case: dict[str, Any]) -> None:
        """Keep a finished case."""
        self._cases[client, case["id"]] = case
        if self._file is not None:
            self._file.write(json.dumps({"client": client, "case": case}))

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
