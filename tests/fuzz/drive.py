"""Runs a case through toolstream in the ways that invariants compare. Knows no invariant."""

from __future__ import annotations

import random
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.engine.session import Session
from toolstream_core.engine.sink import Sink
from toolstream_core.settings import NOTHING, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fuzz.case import Case
    from toolstream_core.model import Change, Record

BYTEWISE = 3000
"""Bytes of a body up to which it may also be cut into single bytes."""


class Run(NamedTuple):
    """What came of a body."""

    out: bytes
    record: Record | None
    repairs_at_end: list[Change]
    error: BaseException | None
    empty: bool
    """Whether an empty piece went on."""

    @property
    def told(self) -> set[tuple[str, int, int | None, str, str]]:
        """The findings."""
        findings = self.record.findings if self.record else ()
        return {(one.name, one.event, one.call, str(one.severity), one.message) for one in findings}

    @property
    def names(self) -> set[str]:
        """The names of what is wrong."""
        return {name for name, *_ in self.told}

    @property
    def calls(self) -> list[tuple[str, str, bool]]:
        """Name, arguments and whether they are whole, of each call."""
        return [(call.name, call.arguments, call.complete) for call in self.record.calls] if self.record else []


class Log(Sink):
    """A sink that keeps what was changed."""

    live = True

    def __init__(self, *, each: bool = False) -> None:
        self.each = each
        self.repairs_at_end: list[Change] = []

    def changed(self, changed: Change) -> None:
        """Keep a change."""
        self.repairs_at_end.append(changed)


def drive(case: Case, wanted: Settings, pieces: list[bytes], log: Log | None = None, *, fast: bool = True) -> Run:
    """A body through one line; `log` hears of it, where there is one."""
    line = Session(case.exchange, wanted, lambda _: [log] if log else [], fast=fast)
    out: list[bytes] = []
    try:
        for piece in pieces:
            out += line.feed(piece)
        out += line.end(broken=case.broken)
        record = line.record(broken=case.broken)
    except Exception as error:  # noqa: BLE001 - whatever escapes is what is looked for
        return Run(b"".join(out), None, [], error, empty=False)
    return Run(b"".join(out), record, log.repairs_at_end if log else [], line.error, not all(out))


class Outcome:
    """A case and the runs of it, each made when an invariant asks for it."""

    def __init__(self, case: Case) -> None:
        self.case = case

    @cached_property
    def off(self) -> Run:
        """With nothing switched on."""
        return drive(self.case, NOTHING, self._whole())

    @cached_property
    def on(self) -> Run:
        """With what the case switches on, in one piece, with the default log."""
        return drive(self.case, self.case.settings, self._whole(), Log())

    @cached_property
    def silent(self) -> Run:
        """As `on`, without any log, cut somewhere."""
        return drive(self.case, self.case.settings, list(cuts(self.case.body, self.case.seed)))

    @cached_property
    def slow(self) -> Run:
        """As `on`, with every event parsed."""
        return drive(self.case, self.case.settings, self._whole(), Log(), fast=False)

    @cached_property
    def each(self) -> Run:
        """As `on`, cut elsewhere, with a log that wants each event."""
        return drive(
            self.case, self.case.settings, list(cuts(self.case.body, f"{self.case.seed} each")), Log(each=True)
        )

    @cached_property
    def judged(self) -> Run:
        """With nothing switched on, cut somewhere, with a log."""
        return drive(self.case, NOTHING, list(cuts(self.case.body, f"{self.case.seed} judged")), Log())

    @cached_property
    def reread(self) -> Run:
        """What is read of what went on."""
        if self.on.out == self.case.body:
            return self.off
        return drive(self.case, NOTHING, [self.on.out] if self.on.out else [])

    @cached_property
    def again(self) -> Run:
        """What went on, through the same once more."""
        return drive(self.case, self.case.settings, [self.on.out] if self.on.out else [], Log())

    def _whole(self) -> list[bytes]:
        return [self.case.body] if self.case.body else []


def cuts(body: bytes, seed: str) -> Iterator[bytes]:
    """A body in pieces: of single bytes, of lines, of a few sizes, or of all sizes."""
    dice = random.Random(f"cuts {seed}")
    way = dice.random()
    if way < 0.1 and len(body) <= BYTEWISE:
        yield from (body[at : at + 1] for at in range(len(body)))
        return
    if way < 0.25:
        yield from (line for line in body.splitlines(keepends=True) if line)
        return
    sizes = [dice.randint(1, 400)] if way < 0.5 else [1, 2, 7, 60, 500, 4096]
    at = 0
    while at < len(body):
        size = dice.choice(sizes)
        yield body[at : at + size]
        at += size
