"""The client, a process of its own: asks for loads through a proxy and counts what comes. Knows sockets."""

from __future__ import annotations

import selectors
import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchlib.streams import digest
from benchlib.usage import Watch, processor_seconds
from benchlib.wire import READ, Session, WrongBytesError, request

if TYPE_CHECKING:
    import socket
    from multiprocessing.connection import Connection

    from benchlib.security import Security
    from benchlib.streams import Load
    from benchlib.usage import Growth

_PATIENCE = 60
"""Seconds without a byte after which a proxy has lost the stream."""


@dataclass(frozen=True, slots=True)
class Job:
    """`streams` loads at once through the proxy at `port`; `pid` is watched from event `mark` on."""

    port: int
    load: Load
    streams: int
    pid: int
    mark: int
    comes: Load | None = None
    """What has to come where the proxy rewrites; without it, the load itself."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How long it took from the first connection to the end of the last body, and what the proxy used."""

    seconds: float
    processor: float
    """Seconds that the proxy itself ran."""
    growth: Growth


def work(pipe: Connection, security: Security) -> None:
    """Do the jobs that come over `pipe`; what went wrong goes back as the exception."""
    while True:
        job: Job = pipe.recv()
        try:
            pipe.send(fetch(job, security))
        except (OSError, AssertionError) as error:
            pipe.send(error)


def fetch(job: Job, security: Security) -> Outcome:
    """Fetch the load over all connections at once and check every byte of it."""
    wanted = digest(job.comes or job.load)
    watch = Watch(job.pid, job.mark)
    selector = selectors.DefaultSelector()
    bodies = [Session() for _ in range(job.streams)]
    processor, start = processor_seconds(job.pid), time.perf_counter()
    for body in bodies:
        connection = security.connect(job.port)
        connection.sendall(request(job.load))
        selector.register(connection, selectors.EVENT_READ, body)
    while selector.get_map():
        ready = selector.select(_PATIENCE)
        if not ready:
            raise WrongBytesError(f"nothing came for {_PATIENCE} s after {[body.digest for body in bodies]}")
        for key, _ in ready:
            _read(key, selector)
        watch.see(bodies[0].events)
    seconds = time.perf_counter() - start
    for body in bodies:
        if body.digest != wanted:
            raise WrongBytesError(f"{job.load}: sent {wanted}, came {body.digest}")
    return Outcome(seconds, processor_seconds(job.pid) - processor, watch.growth())


def _read(key: selectors.SelectorKey, selector: selectors.BaseSelector) -> None:
    connection: socket.socket = key.fileobj  # type: ignore[assignment]
    body: Session = key.data
    body.feed(connection.recv(READ))
    # TLS may have read more than one record off the socket; `select` would not tell.
    while isinstance(connection, ssl.SSLSocket) and connection.pending():
        body.feed(connection.recv(READ))
    if body.done:
        selector.unregister(connection)
        connection.close()
