"""Reads what `toolstream_jsonl` writes, through a named pipe, so that one can wait for the next object."""

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

type Told = dict[str, Any]
"""One line of the file."""


class Tap:
    """The objects that a mitmdump has told so far."""

    def __init__(self, path: Path) -> None:
        """Make the pipe at `path` and read it."""
        os.mkfifo(path)
        self.path = path
        self._told: list[Told] = []
        self._changed = threading.Condition()
        # Open for writing too: so it neither waits for a writer nor ends when one goes.
        self._descriptor = os.open(path, os.O_RDWR)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def told(self) -> list[Told]:
        """All so far."""
        with self._changed:
            return list(self._told)

    def wait_for(self, wanted: Callable[[Told], object], count: int = 1) -> list[Told]:
        """All that is wanted, once there are `count` of it."""
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while len(found := [one for one in self._told if wanted(one)]) < count:
                left = deadline - time.monotonic()
                assert left > 0, f"{len(found)} of {count} were told, among {len(self._told)} objects"
                self._changed.wait(left)
        return found

    def end_of(self, call_id: str) -> Told:
        """What was told at the end of the answer with this call."""
        return self.wait_for(lambda one: call_id in _call_ids(one))[0]

    def of_flow(self, flow: str) -> list[Told]:
        """All that was told of one flow."""
        return [one for one in self.told if one["flow"] == flow]

    def close(self) -> None:
        """Stop reading."""
        os.write(self._descriptor, b"null\n")
        self._thread.join(PATIENCE)

    def _read(self) -> None:
        with os.fdopen(self._descriptor, encoding="utf-8") as lines:
            while (told := json.loads(lines.readline())) is not None:
                with self._changed:
                    self._told.append(told)
                    self._changed.notify_all()


def _call_ids(told: Told) -> list[str]:
    return [call["id"] for call in told["record"]["calls"]] if told["type"] == "end" else []
