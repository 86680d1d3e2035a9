"""The lines that a process prints, and waiting for some of them."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable
from typing import IO

type Wanted = str | Callable[[str], object]
"""A line that is waited for: a regular expression searched in it, or what is true of it."""


class Output:
    """The lines a process has printed so far, read by a thread, and waiting for more of them."""

    def __init__(self, stream: IO[str]) -> None:
        """Read `stream` to its end and close it."""
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    @property
    def lines(self) -> tuple[str, ...]:
        """What was printed so far."""
        with self._changed:
            return tuple(self._lines)

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self._ended

    def wait_for(self, wanted: Wanted, timeout: float, after: int = 0) -> str | None:
        """The first line from number `after` on that is wanted; `None` when time or the output ends first."""
        is_wanted = re.compile(wanted).search if isinstance(wanted, str) else wanted
        deadline = time.monotonic() + timeout
        at = after
        with self._changed:
            while True:
                for line in self._lines[at:]:
                    if is_wanted(line):
                        return line
                at = max(at, len(self._lines))
                left = deadline - time.monotonic()
                if self._ended or left <= 0:
                    return None
                self._changed.wait(left)

    def join(self, timeout: float) -> None:
        """Wait until all that was printed has been read."""
        self._thread.join(timeout)

    def _read(self, stream: IO[str]) -> None:
        # A pseudo-terminal answers with an error, not with the end of file, once the other side has gone.
        with contextlib.suppress(OSError), stream:
            for line in stream:
                self._add(line.rstrip("\r\n"))
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _add(self, line: str) -> None:
        with self._changed:
            self._lines.append(line)
            self._changed.notify_all()
