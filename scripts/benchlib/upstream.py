"""The provider that is no provider: sends a load to whoever asks, at once or in its own time. Knows no proxy."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING

from benchlib.streams import Kind, Load
from benchlib.wire import read_request

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from benchlib.security import Security

HEAD = (
    b"HTTP/1.1 200 OK\r\n"
    b"content-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n"
    b"x-request-id: req_4f3c2b1a\r\n\r\n"
)


def serve(pipe: Connection, security: Security) -> None:
    """Say over `pipe` on which port it listens and answer until the process is ended."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    pipe.send(listener.getsockname()[1])
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_answer, args=(connection, security), daemon=True).start()


def _answer(connection: socket.socket, security: Security) -> None:
    with contextlib.suppress(ConnectionError), security.as_server(connection) as secured:
        secured.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        load = _wanted(read_request(secured))
        secured.sendall(HEAD)
        start = time.monotonic()
        for number, piece in enumerate(load.wire()):
            if load.schedule:
                time.sleep(max(0.0, start + number / load.schedule - time.monotonic()))
            secured.sendall(piece)
        secured.recv(1)


def _wanted(head: bytes) -> Load:
    _, _, rest = head.partition(b"\r\nx-bench: ")
    kind, events, schedule = rest.partition(b"\r\n")[0].decode().split("/")
    return Load(Kind(kind), int(events), int(schedule))
