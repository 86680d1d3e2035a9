"""The client and the upstream of a measurement, and the memory and processor time of a process."""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import subprocess
import threading
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchlib.streams import TOOL, Digest, Kind, Load, digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection


_STEP = 2000
"""Events between two measurements."""
_IDLE_CHECKS = 10
_CHECK_INTERVAL = 0.01
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Resident MiB at the mark, the maximum measured after it, and the peak of the process."""

    start: float
    most: float
    peak: float

    @property
    def grown(self) -> float:
        """The maximum growth in MiB."""
        return self.most - self.start


class Watch:
    """Measures the memory of a process during a stream."""

    def __init__(self, pid: int, mark: int) -> None:
        """Measure growth from event `mark` on."""
        self._pid = pid
        self._next = mark
        self._seen: list[float] = []

    def see(self, events: int) -> None:
        """Measure, if enough events have arrived since the last measurement."""
        if events >= self._next:
            self._next = events + _STEP
            self._seen.append(resident(self._pid))

    def growth(self) -> Growth:
        """Measure at the end of the stream, and return the growth."""
        self._seen.append(resident(self._pid))
        most = max(self._seen)
        return Growth(self._seen[0], most, max(most, peak(self._pid)))


def resident(pid: int) -> float:
    """The resident memory of a process in MiB."""
    return _status(pid, "VmRSS") or _by_ps(pid)


def peak(pid: int) -> float:
    """The peak of the resident memory in MiB; the current value if the system does not report the peak."""
    return _status(pid, "VmHWM") or _by_ps(pid)


def processor_seconds(pid: int) -> float:
    """The processor seconds of the main thread, in which mitmproxy works; 0 if the system does not report them."""
    path = Path(f"/proc/{pid}/schedstat")
    return int(path.read_text().split()[0]) / 1e9 if path.exists() else 0.0


def all_processor_seconds(pid: int) -> float:
    """The processor seconds of all threads."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[0]) for path in threads) / 1e9


def wait_until_idle(pid: int) -> None:
    """Wait until all threads of a process have been idle for a while; returns at once without /proc."""
    checks = _IDLE_CHECKS
    while checks:
        time.sleep(_CHECK_INTERVAL)
        stats = (path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat"))
        idle = all(stat.rpartition(")")[2].split()[0] == "S" for stat in stats)
        checks = checks - 1 if idle else _IDLE_CHECKS


def _status(pid: int, name: str) -> float:
    path = Path(f"/proc/{pid}/status")
    if not path.exists():
        return 0.0
    lines = dict(line.split(":", 1) for line in path.read_text().splitlines())
    return int(lines[name].split()[0]) / 1024


def _by_ps(pid: int) -> float:
    done = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


READ = 1 << 18
"""The maximum number of bytes in a read."""

_PARAMETERS = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    "required": ["path", "content"],
}
_REQUEST_BODY = {
    "model": "gpt-4.1-mini",
    "stream": True,
    "messages": [{"role": "user", "content": "Write the program."}],
    "tools": [{"type": "function", "function": {"name": TOOL, "parameters": _PARAMETERS}}],
}


class WrongBytesError(AssertionError):
    """The received bytes are not the sent bytes."""


class ResponseReader:
    """Parses a chunked HTTP/1.1 response incrementally, and keeps its digest, not its bytes."""

    def __init__(self) -> None:
        """Start before the status line."""
        self.done = False
        self.events = 0
        """The number of blank lines so far, which is the number of events."""
        self.arrivals: list[float] = []
        """The time at which each event was complete, in seconds."""
        self._length = self._checksum = 0
        self._rest = b""
        self._in_head = True

    @property
    def digest(self) -> Digest:
        """The digest of the body so far, without the chunk framing."""
        return Digest(self._length, self._checksum)

    def feed(self, data: bytes) -> None:
        """Parse received data. Raises `WrongBytesError` at a premature end."""
        if not data:
            raise WrongBytesError(f"the connection ended after {self.digest}")
        buffer = self._rest + data
        if self._in_head:
            head, _, buffer = buffer.partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200 "):
                raise WrongBytesError(f"unexpected response: {head[:300]!r}")
            self._in_head = False
        self._take(buffer)

    def _take(self, buffer: bytes) -> None:
        parts = []
        at = 0
        while (line := buffer.find(b"\r\n", at)) >= 0:
            size = int(buffer[at:line], 16)
            end = line + 2 + size
            if len(buffer) < end + 2:
                break
            parts.append(buffer[line + 2 : end])
            at = end + 2
            self.done = size == 0
        self._rest = buffer[at:]
        body = b"".join(parts)
        complete = body.count(b"\n\n")
        self.events += complete
        self.arrivals += [time.perf_counter()] * complete
        self._length += len(body)
        self._checksum = zlib.crc32(body, self._checksum)


def connect(port: int) -> socket.socket:
    """A connection to the proxy."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def request(load: Load) -> bytes:
    """The request of a chat completion; a header names the load."""
    body = json.dumps(_REQUEST_BODY).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nx-bench: {load.kind}/{load.events}/{load.schedule}\r\n\r\n"
    )
    return head.encode() + body


def read_request(connection: socket.socket) -> bytes:
    """Read the next request and return its head."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    _, _, rest = head.lower().partition(b"content-length: ")
    missing = int(rest.partition(b"\r\n")[0]) - len(body)
    while missing > 0:
        missing -= len(_some(connection))
    return head


def _some(connection: socket.socket) -> bytes:
    data = connection.recv(READ)
    if not data:
        raise ConnectionError("the proxy closed the connection")
    return data


_PATIENCE = 60
"""The time limit without a byte in seconds."""


@dataclass(frozen=True, slots=True)
class Job:
    """`streams` concurrent loads through the proxy at `port`; the memory of `pid` is measured from event `mark` on."""

    port: int
    load: Load
    streams: int
    pid: int
    mark: int
    expected: Load | None = None
    """The load to expect if the proxy rewrites; by default the sent load."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The time from the first connection to the end of the last body, and the resources of the proxy."""

    seconds: float
    processor: float
    """The processor seconds of the proxy."""
    growth: Growth
    late: Sequence[Sequence[float]] = ()
    """For each stream of a paced load: the delay of each event after its scheduled time in milliseconds."""


def do_jobs(pipe: Connection) -> None:
    """Perform the jobs from `pipe`, and send back their outcome or exception."""
    while True:
        job: Job = pipe.recv()
        try:
            pipe.send(fetch(job))
        except (OSError, AssertionError) as error:
            pipe.send(error)


def fetch(job: Job) -> Outcome:
    """Fetch the load over all connections concurrently, and check every byte."""
    wanted = digest(job.expected or job.load)
    watch = Watch(job.pid, job.mark)
    selector = selectors.DefaultSelector()
    bodies = [ResponseReader() for _ in range(job.streams)]
    processor, start = processor_seconds(job.pid), time.perf_counter()
    for body in bodies:
        connection = connect(job.port)
        connection.sendall(request(job.load))
        selector.register(connection, selectors.EVENT_READ, body)
    while selector.get_map():
        ready = selector.select(_PATIENCE)
        if not ready:
            raise WrongBytesError(f"no data for {_PATIENCE} s after {[body.digest for body in bodies]}")
        for key, _ in ready:
            _read(key, selector)
        watch.see(bodies[0].events)
    seconds = time.perf_counter() - start
    for body in bodies:
        if body.digest != wanted:
            raise WrongBytesError(f"{job.load}: sent {wanted}, received {body.digest}")
    late = [lateness(body.arrivals, job.load.schedule) for body in bodies] if job.load.schedule else ()
    return Outcome(seconds, processor_seconds(job.pid) - processor, watch.growth(), late)


def lateness(arrivals: Sequence[float], schedule: int) -> list[float]:
    """The delay of each event of a stream with so many events in a second, in milliseconds.

    The start of the stream is inferred from its most punctual event.
    """
    delays = [arrival - number / schedule for number, arrival in enumerate(arrivals)]
    earliest = min(delays)
    return [(delay - earliest) * 1000 for delay in delays]


def _read(key: selectors.SelectorKey, selector: selectors.BaseSelector) -> None:
    connection: socket.socket = key.fileobj  # type: ignore[assignment]
    body: ResponseReader = key.data
    body.feed(connection.recv(READ))
    if body.done:
        selector.unregister(connection)
        connection.close()


HEAD = (
    b"HTTP/1.1 200 OK\r\n"
    b"content-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n"
    b"x-request-id: req_4f3c2b1a\r\n\r\n"
)


def serve_loads(pipe: Connection) -> None:
    """Send the port over `pipe`, and respond to requests until the process is terminated."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    pipe.send(listener.getsockname()[1])
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_respond, args=(connection,), daemon=True).start()


def _respond(connection: socket.socket) -> None:
    with contextlib.suppress(ConnectionError), connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        load = _wanted(read_request(connection))
        connection.sendall(HEAD)
        start = time.monotonic()
        for number, chunk in enumerate(load.wire()):
            if load.schedule:
                time.sleep(max(0.0, start + number / load.schedule - time.monotonic()))
            connection.sendall(chunk)
        connection.recv(1)


def _wanted(head: bytes) -> Load:
    _, _, rest = head.partition(b"\r\nx-bench: ")
    kind, events, schedule = rest.partition(b"\r\n")[0].decode().split("/")
    return Load(Kind(kind), int(events), int(schedule))
