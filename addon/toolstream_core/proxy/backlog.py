"""Work that waits for turns of mitmproxy's loop: mainly, reading forwarded chunks."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, Protocol, override

_READ_AFTER: Final = 0.01
"""Seconds that chunks may wait for others before they are read."""
_MOST: Final = 256 * 1024
"""Maximum bytes that wait; of more, the first are read at once."""
_TOGETHER: Final = 0.001
"""Seconds within which chunks of one response are read together."""
_TURN: Final = 0.0003
"""Seconds of work after which mitmproxy's loop has a turn."""


class Turns[Work]:
    """Does work in its order, a little in each turn of mitmproxy's loop; all of it at once without a loop."""

    def __init__(self, after: float = 0.0) -> None:
        """The first turn is after `after` seconds."""
        self._waiting: deque[Work] = deque()
        self._after = after
        self._due: asyncio.Handle | None = None

    def finish(self) -> None:
        """Do all waiting work."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        while self._waiting:
            self._do_next()

    def _schedule(self) -> None:
        """Schedule a turn."""
        try:
            self._due = asyncio.get_running_loop().call_later(self._after, self._do_some)
        except RuntimeError:
            self.finish()

    def _do_some(self) -> None:
        """Do waiting work, for as long as other traffic may wait."""
        self._due = None
        until = time.monotonic() + _TURN
        while self._waiting:
            if time.monotonic() > until:
                self._due = asyncio.get_running_loop().call_soon(self._do_some)
                return
            self._do_next()

    def _do_next(self) -> None:
        """Do a step of the waiting work."""
        raise NotImplementedError


class Jobs(Turns["Iterator[None]"]):
    """Jobs that are done one after the other, each up to its next `yield` in one step."""

    def __bool__(self) -> bool:
        """Whether any is not done."""
        return bool(self._waiting)

    def add(self, job: Iterator[None]) -> None:
        """Do a job later; without mitmproxy's loop at once."""
        self._waiting.append(job)
        if self._due is None:
            self._schedule()

    @override
    def _do_next(self) -> None:
        for _ in self._waiting[0]:
            return
        self._waiting.popleft()


class Reader(Protocol):
    """Reads the chunks of one response."""

    def read_all(self, data: bytes, chunks: Sequence[bytes], came_at: float) -> None:
        """Read chunks that arrived together; `data` is all of them, joined."""


class Backlog(Turns["tuple[Reader, float, bytes]"]):
    """The forwarded chunks of all responses that were not read yet, with their arrival times."""

    def __init__(self) -> None:
        super().__init__(_READ_AFTER)
        self._size = 0

    def add(self, reader: Reader, chunk: bytes) -> None:
        """Take a forwarded chunk; without mitmproxy's loop it is read at once."""
        self._waiting.append((reader, time.monotonic(), chunk))
        self._size += len(chunk)
        while self._size > _MOST:
            self._do_next()
        if self._due is None:
            self._schedule()

    @override
    def _do_next(self) -> None:
        """Read the next chunk, and those of the same response that arrived with it."""
        waiting = self._waiting
        reader, came_at, chunk = waiting.popleft()
        chunks = [chunk]
        while waiting and waiting[0][0] is reader and waiting[0][1] - came_at < _TOGETHER:
            chunks.append(waiting.popleft()[2])
        data = chunk if len(chunks) == 1 else b"".join(chunks)
        self._size -= len(data)
        reader.read_all(data, chunks, came_at)
