"""Reads the JSON lines of `toolstream_jsonl` through a named pipe; a test can wait for the next line."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from tests.e2e.harness.script import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

type JsonLine = dict[str, Any]
"""A line of the file, parsed."""


class Tap:
    """The JSON lines that a mitmdump has written so far."""

    def __init__(self, path: Path) -> None:
        """Make the pipe at `path` and read it."""
        os.mkfifo(path)
        self.path = path
        self._lines: list[JsonLine] = []
        self._changed = threading.Condition()
        # Open for writing too: opening does not wait for a writer, and reading does not end when a writer closes it.
        self._descriptor = os.open(path, os.O_RDWR)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def lines(self) -> list[JsonLine]:
        """All lines so far."""
        with self._changed:
            return list(self._lines)

    def wait_for(self, wanted: Callable[[JsonLine], object], count: int = 1) -> list[JsonLine]:
        """Wait for `count` matching lines, and return all of them."""
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while len(found := [line for line in self._lines if wanted(line)]) < count:
                left = deadline - time.monotonic()
                assert left > 0, f"{len(found)} of {count} lines match, of {len(self._lines)} lines"
                self._changed.wait(left)
        return found

    def end_of(self, call_id: str) -> JsonLine:
        """The `end` line of the response with this call."""
        return self.wait_for(lambda line: call_id in _call_ids(line))[0]

    def of_flow(self, flow: str) -> list[JsonLine]:
        """All lines of a flow."""
        return [line for line in self.lines if line["flow"] == flow]

    def close(self) -> None:
        """Stop reading."""
        os.write(self._descriptor, b"null\n")
        self._thread.join(PATIENCE)

    def _read(self) -> None:
        with os.fdopen(self._descriptor, encoding="utf-8") as lines:
            while (line := json.loads(lines.readline())) is not None:
                with self._changed:
                    self._lines.append(line)
                    self._changed.notify_all()


def _call_ids(line: JsonLine) -> list[str]:
    return [call["id"] for call in line["record"]["calls"]] if line["type"] == "end" else []
