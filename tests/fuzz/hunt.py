"""Generates cases, checks the invariants, and shrinks the cases that violate one, in several processes."""

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
from tests.fuzz.invariants import HARMS, INVARIANTS, ClientOutcome
from toolstream_core.model import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    type Make = Callable[[str], Case | None]
    """Makes the case of a name."""

SHRINK_SECONDS = 6.0
SAVED = 2
"""Failures of one kind that are saved."""
SHRUNK = 10
"""Failures of one complaint that one process shrinks."""
DETAILED = frozenset({"same-for-every-cut", "same-findings-with-repairs", "no-exception", "no-exception-however-cut"})
"""Invariants whose complaints have the difference or the exception after a colon."""
_NOISE = re.compile(r"""\bb?(["']).*|\d+|\(.*|\[.*|:.*""", re.DOTALL)


class Violation(NamedTuple):
    """A violation of an invariant."""

    invariant: str
    why: str
    repaired: tuple[str, ...] = ()
    """The names of the repaired defects."""

    @property
    def complaint(self) -> str:
        """The invariant and the violation without the details of a stream."""
        depth = 2 if self.invariant in DETAILED else 1
        parts = [_NOISE.sub("", part).strip() for part in self.why.split(":")[:depth]]
        return f"{self.invariant}: {': '.join(parts)}"[:150]

    @property
    def kind(self) -> str:
        """The complaint, with the repaired defects."""
        return f"{self.complaint} ({', '.join(self.repaired)})"


def violations(case: Case, invariants: Iterable[str] = tuple(INVARIANTS)) -> Iterator[Violation]:
    """Yield the violations of a case; an invariant that raises is a violation."""
    outcome = ClientOutcome(case)
    for name in invariants:
        try:
            for why in INVARIANTS[name](outcome):
                yield Violation(
                    name, why, tuple(sorted({defect for change in outcome.on.changes for defect in change.names}))
                )
        except Exception:  # noqa: BLE001 - a bug of an invariant is reported as such
            yield Violation(name, f"the invariant itself raised: {traceback.format_exc(limit=-3)}")


def shrunk(case: Case, one: Violation) -> Case:
    """Return a smaller case with the same complaint as `one`, without events that the complaint does not need.

    Streams with intended calls are not shortened: their intended calls would differ.
    """
    until = time.monotonic() + SHRINK_SECONDS

    def still_violates(smaller: Case) -> bool:
        return any(other.complaint == one.complaint for other in violations(smaller, [one.invariant]))

    for simplification in (
        {"intended": ()},
        {"request": ABSENT},
        {"path": ""},
        {"broken": None},
        {"repair": ("safe",), "shape": ()},
        {"shape": ()},
        {"repair": ("safe",)},
    ):
        smaller = replace(case, **simplification)
        if smaller != case and still_violates(smaller):
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
            if fewer and still_violates(smaller):
                blocks, case = fewer, smaller
            else:
                at += size
        size //= 2
    return case


@dataclass
class Tally:
    """Counts of cases and violations."""

    cases: int = 0
    harms: Counter[str] = field(default_factory=Counter)
    """Streams with a violation in each group of `HARMS`."""
    invariants: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    files: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        self.cases += other.cases
        self.harms += other.harms
        self.invariants += other.invariants
        self.kinds += other.kinds
        self.files += other.files


def cases(make: Make, names: Iterable[str]) -> Iterator[Case]:
    """Yield the cases of the names, without `None`."""
    return (case for case in map(make, names) if case is not None)


def hunt(cases: Iterable[Case], invariants: Sequence[str], out: Path | None) -> Tally:
    """Check the invariants of each case; shrink the cases that violate one, and write them to `out`."""
    tally = Tally()
    for case in cases:
        tally.cases += 1
        found: dict[str, Violation] = {}
        for one in violations(case, invariants):
            found.setdefault(one.complaint, one)
        violated = {one.invariant for one in found.values()}
        tally.harms.update(name for name, guards in HARMS.items() if violated & guards)
        for complaint, one in found.items():
            tally.invariants[one.invariant] += 1
            tally.kinds[complaint] += 1
            if out is not None and tally.kinds[complaint] <= SHRUNK:
                tally.files += _save_shrunk(case, one, out)
    return tally


def _save_shrunk(case: Case, one: Violation, out: Path) -> list[str]:
    small = shrunk(case, one)
    one = next(other for other in violations(small, [one.invariant]) if other.complaint == one.complaint)
    folder = out / (ClientOutcome(small).protocol or "unread")
    stem = f"{one.invariant}-{hashlib.sha256(one.kind.encode()).hexdigest()[:6]}"
    if len(list(folder.glob(f"{stem}-*.case"))) >= SAVED:
        return []
    mark = hashlib.sha256(small.body).hexdigest()[:4]
    return [str(save(small, folder / f"{stem}-{mark}", kind=one.kind, why=one.why))]


def names(seed: str, worker: int) -> Iterator[str]:
    """Yield case names of one worker without end."""
    count = 0
    while True:
        yield f"{seed}:{worker}:{count}"
        count += 1


_interrupted = mmap.mmap(-1, 1)
"""1 after an interrupt. All processes share it: a process that is forked at that moment does not get the signal."""


def note_interrupts() -> None:
    """Make an interrupt end the hunt of this process and its later children, instead of the process."""
    _interrupted[0] = 0
    signal.signal(signal.SIGINT, lambda *_: _interrupted.__setitem__(0, 1))


def until(drawn: Iterator[str], end: float) -> Iterator[str]:
    """Yield names until the time `end` or an interrupt."""
    while time.monotonic() < end and not _interrupted[0]:
        yield next(drawn)


def in_workers(make: Make, seed: str, workers: int, minutes: float, invariants: Sequence[str], out: Path) -> Tally:
    """Hunt in several processes for some minutes or until an interrupt."""
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
    """Run the garbage collector rarely: it would use a quarter of the time."""
    gc.freeze()
    gc.set_threshold(100_000)
