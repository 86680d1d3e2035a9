"""Orders and replies of the worker, one JSON object a line, over its standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import threading
from typing import IO, TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from toolstream_core.model import Json


class Channel:
    """Reads orders in a thread, because standard input cannot be awaited everywhere; replies are written at once."""

    def __init__(self, orders: int, replies: IO[bytes]) -> None:
        """`orders` is a file descriptor; nothing is read before `listen`."""
        self._orders = orders
        self._replies = replies
        self._queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    @classmethod
    def of_this_process(cls) -> Self:
        """Use standard output for replies: all other output goes to standard error from here on."""
        replies = os.fdopen(os.dup(1), "wb", buffering=0)
        sys.stdout.flush()
        os.dup2(2, 1)
        return cls(0, replies)

    def listen(self) -> None:
        """Begin to read, for the event loop that runs now."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), daemon=True).start()

    async def order(self) -> dict[str, Any] | None:
        """The next order; `None` where there will be no more."""
        return await self._queue.get()

    def reply(self, message: Json) -> None:
        """Write one reply. Nobody may be there any more to read it."""
        try:
            self._replies.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        except OSError:
            self._queue.put_nowait(None)

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """Without Python's buffers: a thread that waits in one of them is an error when Python ends."""
        held = b""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            while data := os.read(self._orders, 65536):
                *lines, held = (held + data).split(b"\n")
                for line in lines:
                    loop.call_soon_threadsafe(self._queue.put_nowait, json.loads(line))
            loop.call_soon_threadsafe(self._queue.put_nowait, None)
