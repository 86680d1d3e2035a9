"""The program that `preloaded` starts: it imports mitmdump once, and forks for each request to start one.

Its standard input is a socket. A message is the JSON of a `Start`, with three files: a socket, and the standard
input and output of the new process. The process id is sent on that socket, and later the exit code.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import sys
from pathlib import Path
from typing import TypedDict

import mitmproxy.tools.dump  # noqa: F401 - mitmdump imports it at its start
from mitmproxy.tools.main import mitmdump

import toolstream_core.proxy.addon  # noqa: F401 - the addon script imports it

MESSAGE = 1 << 18
"""The maximum length of a message in bytes."""
THREADS = Path("/proc/self/task")


class Start(TypedDict):
    """The process to start, in the terms of `subprocess`."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str


class Forking:
    """Forks at each request, and reports the exit code of each fork."""

    def __init__(self, requests: socket.socket) -> None:
        """`requests` is the socket of the requests. When it is closed, all forks end."""
        self._requests = requests
        self._selector = selectors.DefaultSelector()
        self._selector.register(requests, selectors.EVENT_READ)
        self._running: dict[int, tuple[int, socket.socket]] = {}
        """Process id and status socket by the pidfd of a process."""

    def serve(self) -> Start | None:
        """Return the request in each fork, and `None` in the parent when the requests have ended."""
        while True:
            for ready, _ in self._selector.select():
                if ready.fd in self._running:
                    self._reap(ready.fd)
                    continue
                data, files, _, _ = socket.recv_fds(self._requests, MESSAGE, 3)
                if not data:
                    self._end()
                    return None
                if self._fork(files):
                    start: Start = json.loads(data)
                    return start

    def _fork(self, files: list[int]) -> bool:
        """Fork. Returns whether this is the child, which then uses these files."""
        assert len(list(THREADS.iterdir())) == 1, "threads do not survive a fork"
        status, stdin, stdout = files
        pid = os.fork()
        if pid == 0:
            self._use_files(stdin, stdout)
            os.close(status)
            return True
        os.close(stdin)
        os.close(stdout)
        peer = socket.socket(fileno=status)
        process = os.pidfd_open(pid)
        self._running[process] = (pid, peer)
        self._selector.register(process, selectors.EVENT_READ)
        _report(peer, pid)
        return False

    def _use_files(self, stdin: int, stdout: int) -> None:
        """Close the files of the parent, and use `stdin` and `stdout`."""
        self._selector.close()
        for process, (_, peer) in self._running.items():
            os.close(process)
            peer.close()
        self._requests.detach()
        for source, target in ((stdin, 0), (stdout, 1), (stdout, 2)):
            os.dup2(source, target)
        os.close(stdin)
        os.close(stdout)

    def _reap(self, process: int) -> None:
        pid, peer = self._running.pop(process)
        self._selector.unregister(process)
        os.close(process)
        _, status = os.waitpid(pid, 0)
        _report(peer, os.waitstatus_to_exitcode(status))
        peer.close()

    def _end(self) -> None:
        for process, (pid, _) in tuple(self._running.items()):
            os.kill(pid, signal.SIGTERM)
            self._reap(process)


def _report(peer: socket.socket, number: int) -> None:
    # The requesting process may have ended.
    with contextlib.suppress(BrokenPipeError):
        peer.send(str(number).encode())


def main() -> int | None:
    """Serve requests; in a fork, run mitmdump."""
    # The garbage collector of a fork skips frozen objects, and their memory pages stay shared.
    gc.collect()
    gc.freeze()
    start = Forking(socket.socket(fileno=0)).serve()
    if start is None:
        return 0
    os.chdir(start["folder"])
    os.environ.clear()
    os.environ.update(start["environment"])
    sys.argv[:] = start["arguments"]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    return mitmdump()


if __name__ == "__main__":
    sys.exit(main())
