"""The program that `preloaded` starts: it has imported mitmdump, and forks for each that is asked for.

On its standard input is a socket. A message on it is the JSON of a `Start`; its files are a socket and the new
process's standard input and output. The new process's number goes out on that socket, later its exit code.
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

import mitmproxy.tools.dump  # noqa: F401 - what mitmdump imports when it starts
from mitmproxy.tools.main import mitmdump

import toolstream_core.proxy.addon  # noqa: F401 - what the door imports

MESSAGE = 1 << 18
"""No message is longer, in bytes."""
THREADS = Path("/proc/self/task")


class Start(TypedDict):
    """What to start, in the words of `subprocess`."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str


class Forking:
    """Forks at each request, and tells how each fork ended."""

    def __init__(self, requests: socket.socket) -> None:
        """`requests` brings them; at its end all ends."""
        self._requests = requests
        self._selector = selectors.DefaultSelector()
        self._selector.register(requests, selectors.EVENT_READ)
        self._running: dict[int, tuple[int, socket.socket]] = {}
        """By the descriptor of a process: its number and whom its end is told."""

    def serve(self) -> Start | None:
        """Returns in each fork, with what to start there, and at the end of the requests."""
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
        """Whether this is the fork, with those files."""
        assert len(list(THREADS.iterdir())) == 1, "threads do not survive a fork"
        status, stdin, stdout = files
        pid = os.fork()
        if pid == 0:
            self._become(stdin, stdout)
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

    def _become(self, stdin: int, stdout: int) -> None:
        """Leave behind what is the parent's."""
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
    # Who asked may have gone.
    with contextlib.suppress(BrokenPipeError):
        peer.send(str(number).encode())


def main() -> int | None:
    """Serve; in a fork, be the mitmdump that was asked for."""
    # What is there already is neither looked through by the collector of each fork nor copied for it.
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
