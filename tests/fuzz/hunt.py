"""Draws cases, holds them to the invariants, and makes what breaks one small. Knows processes and files."""

from __future__ import annotations

import gc
import hashlib
import mmap
import multiprocessing
import re
import signal
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from tests.fuzz import mutate
from tests.fuzz.case import Case, save
from tests.fuzz.invariants import HARMS, INVARIANTS, Seen
from toolstream_core.model import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    type Make = Callable[[str], Case | None]
    """Makes the case of a name."""

SHRINK_SECONDS = 6.0
KEPT = 2
"""Failures of one kind that are written."""
TRIED = 10
"""Failures of one invariant and complaint that one process makes small, of whatever kind they turn out to be."""
DETAILED = frozenset({"same-for-every-cut", "same-findings-with-repairs", "no-exception", "no-exception-however-cut"})
"""Invariants whose complaints say behind a colon what differs or what was raised."""
_NOISE = re.compile(r"""\bb?(["']).*|\d+|\(.*|\[.*|:.*""", re.DOTALL)


class Broken(NamedTuple):
    """A invariant that a case breaks."""

    invariant: str
    why: str
    rows: tuple[str, ...] = ()
    """Names of what was mended."""

    @property
    def complaint(self) -> str:
        """Invariant and complaint without what differs from stream to stream."""
        depth = 2 if self.invariant in DETAILED else 1
        parts = [_NOISE.sub("", part).strip() for part in self.why.split(":")[:depth]]
        return f"{self.invariant}: {': '.join(parts)}"[:150]

    @property
    def kind(self) -> str:
        """The complaint, with what was mended."""
        return f"{self.complaint} ({', '.join(self.rows)})"


def broken(case: Case, invariants: Iterable[str] = tuple(INVARIANTS)) -> Iterator[Broken]:
    """What `case` breaks; an invariant that raises is broken too, by itself."""
    seen = Seen(case)
    for name in invariants:
        try:
            for why in INVARIANTS[name](seen):
                yield Broken(
                    name, why, tuple(sorted({row for repair in seen.on.repairs_at_end for row in repair.names}))
                )
        except Exception:  # noqa: BLE001 - a mistake of an invariant is to be seen as what it is
            yield Broken(name, f"the invariant itself raised: {traceback.format_exc(limit=-3)}")


def shrunk(case: Case, one: Broken) -> Case:
    """A smaller case that breaks the invariant of `one` in the same way: events and bytes taken out as long as it does.

    With the intended calls, a case stays as it is: what is left of a stream intends other calls.
    """
    until = time.monotonic() + SHRINK_SECONDS

    def still(smaller: Case) -> bool:
        return any(other.complaint == one.complaint for other in broken(smaller, [one.invariant]))

    for plainer in (
        {"intended": ()},
        {"request": ABSENT},
        {"path": ""},
        {"broken": None},
        {"repair": ("safe",), "shape": ()},
        {"shape": ()},
        {"repair": ("safe",)},
    ):
        smaller = replace(case, **plainer)
        if smaller != case and still(smaller):
            case = smaller
    if case.intended:
        return case
    blocks = mutate.split(case.body)
    size = max(1, len(blocks) // 2)
    while size and time.monotonic() < until:
        at = 0
        while at < len(blocks) and time.monotonic() < until:
            fewer = blocks[:at] + blocks[at + size :]
            smaller = replace(case, body=b"".join(fewer))
            if fewer and still(smaller):
                blocks, case = fewer, smaller
            else:
                at += size
        size //= 2
    return case


@dataclass
class Tally:
    """What came of so many cases."""

    cases: int = 0
    harms: Counter[str] = field(default_factory=Counter)
    """Streams with a harm of each group of `HARMS`."""
    invariants: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    files: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take another one in."""
        self.cases += other.cases
        self.harms += other.harms
        self.invariants += other.invariants
        self.kinds += other.kinds
        self.files += other.files


def cases(make: Make, names: Iterable[str]) -> Iterator[Case]:
    """The named cases, as far as there is one of each name."""
    return (case for case in map(make, names) if case is not None)


def hunt(cases: Iterable[Case], invariants: Sequence[str], out: Path | None) -> Tally:
    """Hold each case to the invariants; what breaks one is made small and written to `out`."""
    tally = Tally()
    for case in cases:
        tally.cases += 1
        found: dict[str, Broken] = {}
        for one in broken(case, invariants):
            found.setdefault(one.complaint, one)
        broke = {one.invariant for one in found.values()}
        tally.harms.update(name for name, guards in HARMS.items() if broke & guards)
        for complaint, one in found.items():
            tally.invariants[one.invariant] += 1
            tally.kinds[complaint] += 1
            if out is not None and tally.kinds[complaint] <= TRIED:
                tally.files += _written(case, one, out)
    return tally


def _written(case: Case, one: Broken, out: Path) -> list[str]:
    small = shrunk(case, one)
    one = next(other for other in broken(small, [one.invariant]) if other.complaint == one.complaint)
    folder = out / (Seen(small).dialect or "unread")
    stem = f"{one.invariant}-{hashlib.sha256(one.kind.encode()).hexdigest()[:6]}"
    if len(list(folder.glob(f"{stem}-*.case"))) >= KEPT:
        return []
    mark = hashlib.sha256(small.body).hexdigest()[:4]
    return [str(save(small, folder / f"{stem}-{mark}", kind=one.kind, why=one.why))]


def names(seed: str, worker: int) -> Iterator[str]:
    """The names of the cases of one worker, without end."""
    count = 0
    while True:
        yield f"{seed}:{worker}:{count}"
        count += 1


_interrupted = mmap.mmap(-1, 1)
"""1 after an interrupt. All processes of a hunt share it: one that is forked just then does not get the signal."""


def note_interrupts() -> None:
    """An interrupt ends the hunt of this process, and of those that it starts from here on, instead of the process."""
    _interrupted[0] = 0
    signal.signal(signal.SIGINT, lambda *_: _interrupted.__setitem__(0, 1))


def until(drawn: Iterator[str], end: float) -> Iterator[str]:
    """Names until the clock says so, or an interrupt."""
    while time.monotonic() < end and not _interrupted[0]:
        yield next(drawn)


def in_workers(make: Make, seed: str, workers: int, minutes: float, invariants: Sequence[str], out: Path) -> Tally:
    """So many minutes in so many processes, or until an interrupt of all of them."""
    end = time.monotonic() + 60 * minutes
    total = Tally()
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        jobs = [pool.apply_async(_work, (make, seed, worker, end, invariants, out)) for worker in range(workers)]
        for job in jobs:
            total.add(job.get())
    return total


def _work(make: Make, seed: str, worker: int, end: float, invariants: Sequence[str], out: Path) -> Tally:
    collect_seldom()
    return hunt(cases(make, until(names(seed, worker), end)), invariants, out)


def collect_seldom() -> None:
    """Spare the garbage collector's time, which is otherwise a quarter of it all."""
    gc.freeze()
    gc.set_threshold(100_000)
