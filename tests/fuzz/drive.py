"""Runs a case through toolstream with the options and chunk boundaries that the invariants compare."""

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
"""Maximum size of a body that may be fed byte by byte."""


class Run(NamedTuple):
    """The result of feeding a body."""

    out: bytes
    record: Record | None
    changes: list[Change]
    error: BaseException | None
    sent_empty: bool
    """Whether an empty chunk was sent."""

    @property
    def findings(self) -> set[tuple[str, int, int | None, str, str]]:
        """The contents of the findings."""
        findings = self.record.findings if self.record else ()
        return {(one.name, one.event, one.call, str(one.severity), one.message) for one in findings}

    @property
    def finding_names(self) -> set[str]:
        """The names of the findings."""
        return {name for name, *_ in self.findings}

    @property
    def calls(self) -> list[tuple[str, str, bool]]:
        """Name, arguments, and whether the call is complete, of each call."""
        return [(call.name, call.arguments, call.complete) for call in self.record.calls] if self.record else []


class Log(Sink):
    """A sink that keeps the changes."""

    live = True

    def __init__(self, *, each: bool = False) -> None:
        self.each = each
        self.changes: list[Change] = []

    def changed(self, changed: Change) -> None:
        """Keep a change."""
        self.changes.append(changed)


def drive(case: Case, settings: Settings, chunks: list[bytes], log: Log | None = None, *, fast: bool = True) -> Run:
    """Feed the chunks to a session, with `log` as its sink."""
    session = Session(case.exchange, settings, lambda _: [log] if log else [], fast=fast)
    out: list[bytes] = []
    try:
        for chunk in chunks:
            out += session.feed(chunk)
        out += session.end(broken=case.broken)
        record = session.record(broken=case.broken)
    except Exception as error:  # noqa: BLE001 - the fuzzer looks for any exception
        return Run(b"".join(out), None, [], error, sent_empty=False)
    return Run(b"".join(out), record, log.changes if log else [], session.error, not all(out))


class Outcome:
    """A case and its runs, each made on first use."""

    def __init__(self, case: Case) -> None:
        self.case = case

    @cached_property
    def off(self) -> Run:
        """Without options."""
        return drive(self.case, NOTHING, self._one_chunk())

    @cached_property
    def on(self) -> Run:
        """With the options of the case, in one chunk, with a log."""
        return drive(self.case, self.case.settings, self._one_chunk(), Log())

    @cached_property
    def unlogged(self) -> Run:
        """As `on`, without a log, in several chunks."""
        return drive(self.case, self.case.settings, list(cuts(self.case.body, self.case.seed)))

    @cached_property
    def slow(self) -> Run:
        """As `on`, without the fast path."""
        return drive(self.case, self.case.settings, self._one_chunk(), Log(), fast=False)

    @cached_property
    def every_event(self) -> Run:
        """As `on`, in other chunks, with a log that receives every event."""
        return drive(
            self.case, self.case.settings, list(cuts(self.case.body, f"{self.case.seed} each")), Log(each=True)
        )

    @cached_property
    def off_logged(self) -> Run:
        """Without options, in several chunks, with a log."""
        return drive(self.case, NOTHING, list(cuts(self.case.body, f"{self.case.seed} judged")), Log())

    @cached_property
    def reread(self) -> Run:
        """The output of `on`, run without options."""
        if self.on.out == self.case.body:
            return self.off
        return drive(self.case, NOTHING, [self.on.out] if self.on.out else [])

    @cached_property
    def again(self) -> Run:
        """The output of `on`, run with the options of the case again."""
        return drive(self.case, self.case.settings, [self.on.out] if self.on.out else [], Log())

    def _one_chunk(self) -> list[bytes]:
        return [self.case.body] if self.case.body else []


def cuts(body: bytes, seed: str) -> Iterator[bytes]:
    """Yield a body in chunks: single bytes, lines, one size, or several sizes."""
    dice = random.Random(f"cuts {seed}")
    choice = dice.random()
    if choice < 0.1 and len(body) <= BYTEWISE:
        yield from (body[at : at + 1] for at in range(len(body)))
        return
    if choice < 0.25:
        yield from (line for line in body.splitlines(keepends=True) if line)
        return
    sizes = [dice.randint(1, 400)] if choice < 0.5 else [1, 2, 7, 60, 500, 4096]
    at = 0
    while at < len(body):
        size = dice.choice(sizes)
        yield body[at : at + size]
        at += size
