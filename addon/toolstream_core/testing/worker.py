"""The proxy's process: started, told what to do over a private pipe, ended with its parent."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import weakref
from io import BufferedWriter
from pathlib import Path
from typing import IO, Any

from toolstream_core.errors import ToolstreamError

_MODULE = "toolstream_core.proxy.worker"
_ERRORS = "errors.txt"
_REPLY_SECONDS = 30.0
_STOP_SECONDS = 5.0


class ProxySessionError(ToolstreamError):
    """The proxy does not do what it was told, or does not run; the message is one clear line."""


class WorkerProcess:
    """One process, from its start to its end, and the folder that it may write to."""

    def __init__(self, log: IO[Any] | int | None, folder: str | None = None) -> None:
        """Start it, with a new folder where none is given; the process removes it when it ends.

        `log` is what it prints to; with `DEVNULL`, that is kept for the error that says why it ended.
        """
        self._made = tempfile.TemporaryDirectory(prefix="toolstream-") if folder is None else None
        self.folder = Path(self._made.name if self._made is not None else str(folder))
        self._errors = self.folder / _ERRORS
        errors = self._errors.open("wb") if log == subprocess.DEVNULL else log
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=_environment(),
            start_new_session=True,  # what a terminal sends (Ctrl-C, Ctrl-Z, a hang-up) is for the command in front
        )
        if isinstance(errors, BufferedWriter):
            errors.close()
        weakref.finalize(self, _end, self._process)
        self._replies: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        assert self._process.stdout is not None
        threading.Thread(target=_read, args=(self._process.stdout, self._replies), daemon=True).start()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def send(self, **order: object) -> None:
        """Give an order; each has one reply."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # then there is no reply either, and that is told
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The next reply. Raises `ProxySessionError` for one that tells an error, and where there is none."""
        try:
            line = self._replies.get(timeout=_REPLY_SECONDS)
        except queue.Empty:
            raise ProxySessionError(f"the proxy did not respond for {_REPLY_SECONDS:g} s") from None
        if line is None:
            code = self._process.wait(_STOP_SECONDS)
            raise ProxySessionError(f"the proxy exited with code {code}{self._last_words()}")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise ProxySessionError(reply["error"])
        return reply

    def end(self) -> None:
        """End it, and remove its folder."""
        _end(self._process)
        if self._process.stdout is not None:
            self._process.stdout.close()
        if self._made is not None:
            self._made.cleanup()

    def _last_words(self) -> str:
        """The last line that the process printed, where that was kept."""
        lines = self._errors.read_text(errors="replace").split("\n") if self._errors.exists() else []
        return next((f": {line.strip()}" for line in reversed(lines) if line.strip()), "")


def _environment() -> dict[str, str]:
    """This process's, in which the package is found as it is here."""
    here = str(Path(__file__).resolve().parents[2])
    paths = [here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}


def _read(replies: IO[bytes], to: queue.SimpleQueue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        for line in replies:
            to.put(line)
    to.put(None)


def _end(process: subprocess.Popen[bytes]) -> None:
    """The end of its standard input ends it; force is for what hangs."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    for end in (process.terminate, process.kill):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
            return
        end()
    process.wait()
