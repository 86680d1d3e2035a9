"""What a proxy adds to one event on its way when it has nothing else to do. Knows sockets and the rig."""

from __future__ import annotations

import contextlib
import itertools
import socket
import ssl
import statistics
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchlib.streams import HEALTHY, Kind, Load, as_chunk
from benchlib.told import check_told
from benchlib.upstream import HEAD
from benchlib.wire import READ, WrongBytesError, read_request, request

if TYPE_CHECKING:
    from benchlib.rig import Rig, Running
    from benchlib.security import Security

LETTERS = ("a", "c", "d", "e")
_PATIENCE = 60
"""Seconds after which an event is lost."""
_LAST = b"0\r\n\r\n"


@dataclass(slots=True)
class Delays:
    """Milliseconds from sending an event to having read it, one a ping."""

    kind: Kind
    letter: str
    milliseconds: list[float] = field(default_factory=list)

    def percentile(self, percent: int) -> float:
        """So many of a hundred pings were not slower."""
        return statistics.quantiles(self.milliseconds, n=100)[percent - 1]


class Lane:
    """One stream through one proxy, both of its ends held here, so that an event can go alone."""

    def __init__(self, port: int, load: Load, listener: socket.socket, security: Security) -> None:
        """Ask through the proxy at `port`, accept what it asks at `listener`, and let the head through."""
        self._upstream: socket.socket | None = None
        # With TLS the handshake on either side waits for the other.
        accepting = threading.Thread(target=self._accept, args=(listener, security))
        accepting.start()
        self._client = security.connect(port)
        self._client.sendall(request(load))
        accepting.join()
        self._client.settimeout(0)
        self._ping(HEAD)

    def ping(self, chunk: bytes) -> float:
        """Milliseconds that `chunk` takes from the upstream to the client."""
        start = time.perf_counter()
        self._ping(chunk)
        return (time.perf_counter() - start) * 1000

    def close(self) -> None:
        """End the body and hang up."""
        self._ping(_LAST)
        self._client.close()
        if self._upstream:
            self._upstream.close()

    def _accept(self, listener: socket.socket, security: Security) -> None:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._upstream = security.as_server(connection)
        read_request(self._upstream)

    def _ping(self, data: bytes) -> None:
        assert self._upstream is not None, "the proxy never came"
        self._upstream.sendall(data)
        # Asking without waiting keeps this process on its processor. One that sleeps is woken now beside the
        # proxy and now in its place, and that is more than what is measured.
        came, until = b"", time.monotonic() + _PATIENCE
        while len(came) < len(data) and time.monotonic() < until:
            with contextlib.suppress(BlockingIOError, ssl.SSLWantReadError):
                came += self._client.recv(READ)
        if came != data:
            raise WrongBytesError(f"sent {data!r}, came {came!r}")


def measure(rig: Rig, pings: int) -> list[Delays]:
    """For both kinds of stream, event after event, each through one contender after the other."""
    return [delays for kind in HEALTHY for delays in _kind(rig, Load(kind, pings))]


def _kind(rig: Rig, load: Load) -> list[Delays]:
    delays = {letter: Delays(load.kind, letter) for letter in LETTERS}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with rig.running(LETTERS, port) as contenders:
            _play(rig, load, listener, contenders, delays)
        for contender in contenders:
            check_told(contender, load, 1)
    return list(delays.values())


def _play(rig: Rig, load: Load, listener: socket.socket, contenders: list[Running], delays: dict[str, Delays]) -> None:
    lanes = [
        (Lane(one.proxy.port, load, listener, rig.security), delays[one.contender.letter].milliseconds)
        for one in contenders
    ]
    starts = itertools.cycle(range(len(lanes)))
    for at, chunk in zip(starts, map(as_chunk, load.blocks()), strict=False):
        for lane, milliseconds in (*lanes[at:], *lanes[:at]):
            milliseconds.append(lane.ping(chunk))
    for lane, _ in lanes:
        lane.close()
