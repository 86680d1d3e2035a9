"""Where told lines go: the terminal, mitmproxy's event log, or a file. Batched, so that telling stays cheap."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from mitmproxy.exceptions import OptionsError

from toolstream_core.report.jsonl import may_append

if TYPE_CHECKING:
    from collections.abc import Callable

FLUSH_AFTER = 0.02
"""Seconds that a line may wait for others before it is written."""
FLUSH_AT = 512
"""Lines after which is written at once, so that memory stays bounded under a flood."""

logger = logging.getLogger(__name__)


class Outlet:
    """Collects lines and writes them in batches from mitmproxy's event loop."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """`write` is given whole lines joined by newlines, the last one ended."""
        self._write = write
        self._lines: list[str] = []
        self._due: asyncio.TimerHandle | None = None

    def line(self, text: str) -> None:
        """Take one line, without its newline."""
        self._lines.append(text)
        if len(self._lines) >= FLUSH_AT:
            self.flush()
        elif self._due is None:
            self._schedule()

    def flush(self) -> None:
        """Write what is collected."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if self._lines:
            text = "\n".join(self._lines) + "\n"
            self._lines.clear()
            self._write(text)

    def _schedule(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
            return
        self._due = loop.call_later(FLUSH_AFTER, self.flush)


def to_stream(stream: TextIO) -> Callable[[str], None]:
    """Write to a text stream; what its encoding cannot say is escaped, and a closed one is given up."""
    open_ = [True]

    def write(text: str) -> None:
        if not open_[0]:
            return
        try:
            stream.write(text.encode(stream.encoding or "utf-8", "backslashreplace").decode(stream.encoding or "utf-8"))
            stream.flush()
        except (OSError, ValueError):
            open_[0] = False

    return write


def to_log(text: str) -> None:
    """Write to mitmproxy's event log, a record for each line (its console and web interface show that)."""
    for line in filter(None, text.splitlines()):
        logger.info("%s", line)


def terminal(*, event_log: bool) -> Outlet:
    """The outlet for people: standard output, or the event log where an interface of mitmproxy owns the screen."""
    return Outlet(to_log if event_log else to_stream(sys.stdout))


class FileOutlet(Outlet):
    """Appends to a file that only its owner may read."""

    def __init__(self, path: Path) -> None:
        """Open `path` for appending; raises `OSError` where that cannot be done."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if path.is_file():
            path.chmod(0o600)
        self._file = os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace", newline="\n")
        super().__init__(self._append)

    def close(self) -> None:
        """Write what is left and close."""
        self.flush()
        self._file.close()

    def _append(self, text: str) -> None:
        try:
            self._file.write(text)
            self._file.flush()
        except OSError as error:
            logger.error("toolstream: the JSONL file is not writable: %s", error.strerror)


def jsonl_outlet(path: str) -> FileOutlet:
    """Where `toolstream_jsonl` goes. Raises `OptionsError`."""
    file = Path(path).expanduser()
    try:
        if file.is_file() and not may_append(file):
            raise OptionsError(
                f"toolstream_jsonl: {path!r} is not a file of toolstream, and was not changed. Name another."
            )
        return FileOutlet(file)
    except OSError as error:
        message = (
            f"toolstream_jsonl: {path!r} is not writable ({error.strerror}). Expected a file in an existing folder."
        )
        raise OptionsError(message) from error
