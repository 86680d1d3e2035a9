"""What a process uses, watched from outside. Knows /proc, and `ps` where there is none."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

_STEP = 2000
"""Events between two looks."""
_IDLE_LOOKS = 10
_BETWEEN_LOOKS = 0.01
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Resident MiB at the mark, the most that was seen from there on, and the process's peak so far."""

    start: float
    most: float
    peak: float

    @property
    def grown(self) -> float:
        """MiB by which it grew at most."""
        return self.most - self.start


class Watch:
    """Looks at a process again and again as a stream goes through it."""

    def __init__(self, pid: int, mark: int) -> None:
        """Count growth from event `mark` on."""
        self._pid = pid
        self._next = mark
        self._seen: list[float] = []

    def see(self, events: int) -> None:
        """So many events have come."""
        if events >= self._next:
            self._next = events + _STEP
            self._seen.append(resident(self._pid))

    def growth(self) -> Growth:
        """Look once more, now that the stream is over."""
        self._seen.append(resident(self._pid))
        most = max(self._seen)
        return Growth(self._seen[0], most, max(most, peak(self._pid)))


def resident(pid: int) -> float:
    """MiB of `pid` that are in memory now."""
    return _status(pid, "VmRSS") or _by_ps(pid)


def peak(pid: int) -> float:
    """The most MiB that `pid` ever had in memory, or those it has now where nobody counts."""
    return _status(pid, "VmHWM") or _by_ps(pid)


def processor_seconds(pid: int) -> float:
    """How long `pid`'s first thread, where mitmproxy does all its work, has run; 0 where nobody counts so finely."""
    path = Path(f"/proc/{pid}/schedstat")
    return int(path.read_text().split()[0]) / 1e9 if path.exists() else 0.0


def all_processor_seconds(pid: int) -> float:
    """As `processor_seconds`, of all threads."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[0]) for path in threads) / 1e9


def wait_until_idle(pid: int) -> None:
    """Wait until no thread of `pid` has had anything to do for a while; not at all where nobody tells."""
    looks = _IDLE_LOOKS
    while looks:
        time.sleep(_BETWEEN_LOOKS)
        stats = (path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat"))
        idle = all(stat.rpartition(")")[2].split()[0] == "S" for stat in stats)
        looks = looks - 1 if idle else _IDLE_LOOKS


def _status(pid: int, name: str) -> float:
    path = Path(f"/proc/{pid}/status")
    if not path.exists():
        return 0.0
    lines = dict(line.split(":", 1) for line in path.read_text().splitlines())
    return int(lines[name].split()[0]) / 1024


def _by_ps(pid: int) -> float:
    done = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024
