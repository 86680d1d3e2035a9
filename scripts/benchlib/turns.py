"""The cost of streams with each contender: the contenders alternate in each round."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from benchlib.rig import CONTENDERS, check_reported
from benchlib.streams import HEALTHY, Kind, Load, as_chunk
from benchlib.wire import (
    HEAD,
    READ,
    Job,
    WrongBytesError,
    all_processor_seconds,
    connect,
    read_request,
    request,
    wait_until_idle,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchlib.rig import Rig, Running
    from benchlib.wire import Growth

THROUGHPUT: Final = {
    Kind.CONTENT: ("a", "b", "c", "d", "e"),
    Kind.TOOL: ("a", "b", "c", "d", "e", "f"),
    Kind.BROKEN: ("a", "e"),
}
PACED: Final = ("a", "h", "g")
CAPTURED: Final = ("h", "i")
"""Without captures and with captures."""
ENDURED: Final = ("a", "c", "i")
PINGED: Final = ("a", "c", "d", "e")
DIRECT: Final = "-"
"""No proxy: the speed of upstream and client alone."""
PACE: Final = 50
"""Events in a second of each live stream."""
TOGETHER: Final = 3
"""Turns with captures before the processes are restarted: processes differ in speed by some hundredths."""
_SHORT: Final = 6
"""The factor of rounds with captures for a single stream, which takes only a second."""
_PATIENCE: Final = 60
"""The time limit for an event or a capture in seconds."""
_LAST: Final = b"0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Scene:
    """A number of concurrent streams of one load."""

    load: Load
    streams: int

    @property
    def name(self) -> str:
        """The label in the tables."""
        return f"{self.load.kind}, {self.streams} x {self.load.events}"

    @property
    def events(self) -> int:
        """The number of events of all streams."""
        return self.streams * self.load.events


@dataclass(slots=True)
class Timed:
    """The cost of a contender in a scene, one value for each round."""

    scene: Scene
    letter: str
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    """The processor seconds of the proxy: other processes disturb them less."""
    peak: float = 0.0
    """MiB."""
    late: list[Sequence[float]] = field(default_factory=list)
    """For each stream of a paced load: the delay of each event in milliseconds."""


@dataclass(frozen=True, slots=True)
class Endured:
    """The memory of a contender during one stream, in its own mitmdump."""

    load: Load
    letter: str
    growth: Growth
    seconds: float


@dataclass(slots=True)
class Delays:
    """The milliseconds from the sending to the receipt of an event, one value for each ping."""

    kind: Kind
    letter: str
    milliseconds: list[float] = field(default_factory=list)


def throughput(rig: Rig, scenes: Iterable[Scene], rounds: int) -> list[Timed]:
    """Measure each scene with each contender, and without a proxy."""
    return [one for scene in scenes for one in _rounds(rig, scene, (*THROUGHPUT[scene.load.kind], DIRECT), rounds)]


def paced(rig: Rig, kinds: Iterable[Kind], streams: int, events: int, rounds: int) -> list[Timed]:
    """Measure live streams with mitmproxy alone and with toolstream."""
    return [
        one for kind in kinds for one in _rounds(rig, Scene(Load(kind, events, PACE), streams), PACED, rounds)
    ]  # fmt: skip


def captured(rig: Rig, scenes: Iterable[Scene], rounds: int) -> list[Timed]:
    """Measure toolstream with and without captures; a turn ends when mitmdump is idle.

    `tables.estimate` compares the lesser halves. For two equal contenders their ratio is closest to 1 (two standard
    deviations of 0.06 with 21 of 39 turns; 0.10 for the medians). Turns of one process differ less than turns of
    several processes, therefore the bootstrap samples processes.
    """
    return [
        one
        for scene in scenes
        for one in _rounds(
            rig, scene, CAPTURED, rounds if scene.streams > 1 else _SHORT * rounds, together=TOGETHER, turn=_until_idle
        )
    ]


class Cost(NamedTuple):
    """The cost of a turn: seconds, processor seconds, the proxy's peak in MiB, and the delays of events."""

    seconds: float
    processor: float
    peak: float
    late: Sequence[Sequence[float]] = ()


type _Turn = Callable[[Rig, Job, Running, int], Cost]


def _rounds(
    rig: Rig, scene: Scene, letters: Sequence[str], rounds: int, *, together: int = 0, turn: _Turn | None = None
) -> list[Timed]:
    """Run all turns of a scene, with new processes every `together` rounds; the first round of each is a warm-up."""
    timed = {letter: Timed(scene, letter) for letter in letters}
    together, turn = min(together or rounds, rounds), turn or _fetched
    for number in range(math.ceil(rounds / together)):
        with rig.running([letter for letter in letters if letter != DIRECT]) as contenders:
            for at in range(together + 1):
                if at and DIRECT in letters:
                    timed[DIRECT].seconds.append(rig.fetch(_job(scene, rig.port, os.getpid())).seconds)
                start = (number + at) % len(contenders)
                for contender in (*contenders[start:], *contenders[:start]):
                    job = _job(scene, contender.proxy.port, contender.pid, contender.rewritten(scene.load))
                    cost = turn(rig, job, contender, scene.streams * (at + 1))
                    if at:
                        one = timed[contender.contender.letter]
                        one.seconds.append(cost.seconds)
                        one.processor.append(cost.processor)
                        one.peak = cost.peak
                        one.late += cost.late
        for contender in contenders:
            check_reported(contender, scene.load, scene.streams * (together + 1))
    return [*timed.values()]


def _job(scene: Scene, port: int, pid: int, expected: Load | None = None) -> Job:
    return Job(port, scene.load, scene.streams, pid, mark=scene.load.events + 1, expected=expected)


def _fetched(rig: Rig, job: Job, contender: Running, _streams: int) -> Cost:
    outcome = rig.fetch(job, contender)
    return Cost(outcome.seconds, outcome.processor, outcome.growth.peak, outcome.late)


def _until_idle(rig: Rig, job: Job, contender: Running, streams: int) -> Cost:
    """The processor seconds until mitmdump is idle and has written the captures of so many streams."""
    before = all_processor_seconds(contender.pid)
    outcome = rig.fetch(job, contender)
    deadline = time.monotonic() + _PATIENCE
    while contender.contender.capture and (there := len([*contender.captures.glob("*.flow")])) < streams:
        assert time.monotonic() < deadline, f"{there} of {streams} captures"
        time.sleep(0.01)
    wait_until_idle(contender.pid)
    return Cost(outcome.seconds, all_processor_seconds(contender.pid) - before, 0.0)


def memory(rig: Rig, events: int) -> list[Endured]:
    """Measure growth from the twentieth part of the stream on, when everything has been loaded."""
    return [_endured(rig, Load(kind, events), letter) for kind in HEALTHY for letter in ENDURED]


def _endured(rig: Rig, load: Load, letter: str) -> Endured:
    with rig.proxy(CONTENDERS[letter]) as running:
        job = Job(running.proxy.port, load, 1, running.pid, mark=load.events // 20)
        outcome = rig.fetch(job, running)
    check_reported(running, load, 1)
    return Endured(load, letter, outcome.growth, outcome.seconds)


class Lane:
    """A stream through a proxy with both ends in this process: events can be sent one at a time."""

    def __init__(self, port: int, load: Load, listener: socket.socket) -> None:
        """Send a request through the proxy at `port`, accept it at `listener`, and forward the response head."""
        self._client = connect(port)
        self._client.sendall(request(load))
        self._upstream, _ = listener.accept()
        self._upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        read_request(self._upstream)
        self._client.settimeout(0)
        self._ping(HEAD)

    def ping(self, chunk: bytes) -> float:
        """The milliseconds that `chunk` takes from the upstream to the client."""
        start = time.perf_counter()
        self._ping(chunk)
        return (time.perf_counter() - start) * 1000

    def close(self) -> None:
        """End the body and close the connections."""
        self._ping(_LAST)
        self._client.close()
        self._upstream.close()

    def _ping(self, data: bytes) -> None:
        self._upstream.sendall(data)
        # Busy waiting keeps this process on its processor. The scheduling of a sleeping process would take longer than
        # the measured time.
        received, until = b"", time.monotonic() + _PATIENCE
        while len(received) < len(data) and time.monotonic() < until:
            with contextlib.suppress(BlockingIOError):
                received += self._client.recv(READ)
        if received != data:
            raise WrongBytesError(f"sent {data!r}, received {received!r}")


def latency(rig: Rig, pings: int) -> list[Delays]:
    """Measure the delay of each event with each contender, for both kinds of stream."""
    return [delays for kind in HEALTHY for delays in _kind(rig, Load(kind, pings))]


def _kind(rig: Rig, load: Load) -> list[Delays]:
    delays = {letter: Delays(load.kind, letter) for letter in PINGED}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with rig.running(PINGED, port) as contenders:
            _play(load, listener, contenders, delays)
        for contender in contenders:
            check_reported(contender, load, 1)
    return list(delays.values())


def _play(load: Load, listener: socket.socket, contenders: list[Running], delays: dict[str, Delays]) -> None:
    lanes = [(Lane(one.proxy.port, load, listener), delays[one.contender.letter].milliseconds) for one in contenders]
    starts = itertools.cycle(range(len(lanes)))
    for at, chunk in zip(starts, map(as_chunk, load.blocks()), strict=False):
        for lane, milliseconds in (*lanes[at:], *lanes[:at]):
            milliseconds.append(lane.ping(chunk))
    for lane, _ in lanes:
        lane.close()
