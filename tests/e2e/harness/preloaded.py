"""Mitmdumps that start without imports: forks of a process that has imported mitmdump (`forking`)."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self, override

from tests.e2e.harness.mitmdump import Mitmdump
from tests.e2e.harness.script import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.harness.forking import Start

CAN_FORK = hasattr(os, "pidfd_open")
"""Whether the system has pidfds, as Linux has."""
PROGRAM = Path(__file__).with_name("forking.py")
NUMBER_LENGTH = 16
"""The maximum length of a process id or exit code in bytes."""


class Forked(subprocess.Popen[str]):
    """A process that another process has forked. Its process id and exit code arrive on a socket."""

    def __init__(self, command: Sequence[str], status: socket.socket) -> None:
        """Wait for the process id; then the process runs."""
        self.args = command
        self.returncode = None
        self._status = status
        self._waiting = threading.Lock()
        status.settimeout(PATIENCE)
        self.pid = int(status.recv(NUMBER_LENGTH))

    @override
    def wait(self, timeout: float | None = None) -> int:
        with self._waiting:
            if self.returncode is None:
                self._status.settimeout(timeout)
                try:
                    self.returncode = int(self._status.recv(NUMBER_LENGTH))
                except (TimeoutError, BlockingIOError):
                    raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
                self._status.close()
            return self.returncode

    @override
    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode


class Preloaded:
    """The process that has imported mitmdump. It starts at its first use."""

    def __init__(self) -> None:
        """Prepare the socket; `start` starts the process."""
        self._requests, self._process_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, command: Sequence[str], environment: dict[str, str], output: int) -> Forked:
        """Fork a mitmdump with this command line that prints to the file descriptor `output`."""
        self._run()
        status, fork_status = socket.socketpair()
        request: Start = {"arguments": list(command), "environment": environment, "folder": str(Path.cwd())}
        with fork_status, Path(os.devnull).open("rb") as devnull:
            files = [fork_status.fileno(), devnull.fileno(), output]
            socket.send_fds(self._requests, [json.dumps(request).encode()], files)
        return Forked(command, status)

    def close(self) -> None:
        """End the process and its forks."""
        self._process_end.close()
        self._requests.close()
        if self._process is not None:
            self._process.wait(PATIENCE)

    def _run(self) -> None:
        if self._process is None:
            environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
            self._process = subprocess.Popen(
                [sys.executable, str(PROGRAM)], stdin=self._process_end.fileno(), env=environment
            )
            self._process_end.close()

    def __enter__(self) -> Self:
        """The process starts later."""
        return self

    def __exit__(self, *raised: object) -> None:
        """End the process."""
        self.close()


class PreloadedMitmdump(Mitmdump):
    """A mitmdump that is a fork of `preloaded`."""

    preloaded: Preloaded

    @override
    def _spawn(self) -> tuple[subprocess.Popen[str], IO[str]]:
        reading, writing = os.openpty() if self.terminal else os.pipe()
        try:
            process = self.preloaded.start(self._command(), self._environment(), writing)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        return process, os.fdopen(reading, encoding="utf-8", errors="replace")
