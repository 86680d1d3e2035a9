"""Runs Python drivers without repeated imports of their packages. Uses only the standard library.

`warm.py serve SOCKET DRIVER` imports the packages of a driver, then runs the driver in a fork for each request.
`warm.py SOCKET DRIVER [ARGUMENT...]` requests a run and exits with its exit code; without a server it runs the driver.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Final

_STREAMS: Final = (0, 1, 2)
_TURN: Final = 20
"""Milliseconds between two checks of a running driver."""
_LARGEST: Final = 1 << 20
_WAITING: Final = 64


def request_run(path: str, driver: str, arguments: list[str]) -> None:
    """Let the server run a driver with this process's environment and streams."""
    request = {"arguments": [driver, *arguments], "environment": dict(os.environ), "folder": str(Path.cwd())}
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
        except OSError:
            os.execv(sys.executable, [sys.executable, driver, *arguments])  # noqa: S606 - a driver of this repository
        socket.send_fds(connection, [b"."], _STREAMS)
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
        code = int(connection.recv(64) or b"1")
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


def serve(path: str, driver: str) -> None:
    """Run the driver for each request, until this process is terminated."""
    new = Path(f"{path}.new")
    new.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(new))
        listening.listen(_WAITING)
        new.replace(path)
        _import(Path(driver))
        gc.freeze()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            connection, _ = listening.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listening.close()
                return _respond(connection)
            connection.close()


def _import(driver: Path) -> None:
    """Import the modules that a driver imports, except those in its folder, which read the command line."""
    sys.path[0] = str(driver.parent)
    beside = {one.stem for one in driver.parent.glob("*.py")}
    for node in ast.parse(driver.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            if not beside & set(names) and "__future__" not in names:
                exec(compile(ast.Module([node], []), str(driver), "exec"), {})  # noqa: S102 - a driver of this repository


def _respond(connection: socket.socket) -> None:
    """Run the driver in a child process, and kill it if the requesting process has ended."""
    _, streams, _, _ = socket.recv_fds(connection, 1, len(_STREAMS))
    request = json.loads(b"".join(iter(lambda: connection.recv(_LARGEST), b"")))
    child = os.fork()
    if child == 0:
        connection.close()
        return _run(request["arguments"], request["environment"], request["folder"], streams)
    poll = select.poll()
    poll.register(connection, 0)
    code: int | None = None
    while code is None:
        gone = bool(poll.poll(_TURN))
        if gone:
            os.kill(child, signal.SIGKILL)
        ended, status = os.waitpid(child, 0 if gone else os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) if ended else None
    with contextlib.suppress(OSError):
        connection.sendall(str(code).encode())
    os._exit(0)


def _run(arguments: list[str], environment: dict[str, str], folder: str, streams: list[int]) -> None:
    for number, stream in zip(_STREAMS, streams, strict=True):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = arguments
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(*sys.argv[2:4])
    else:
        request_run(sys.argv[1], sys.argv[2], sys.argv[3:])
