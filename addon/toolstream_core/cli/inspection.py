"""Reads saved answers one after the other, whatever of them cannot be read. Knows sources and printers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from toolstream_core.cli.reading import Reading
from toolstream_core.clients.advice import MAX_BODY, tried_repairs
from toolstream_core.clients.received import Answer
from toolstream_core.engine.session import read_body
from toolstream_core.engine.sink import Sink
from toolstream_core.model import Note, Severity
from toolstream_core.redact import redacted
from toolstream_core.report.judging import Judging, SavedVerdict, as_sent
from toolstream_core.report.layout import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.cli.printer import Printer
    from toolstream_core.model import Change, Event, EventContent, Finding, Record
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.sources.saved import Saved
    from toolstream_core.wire.frame import Frame

CLEAN, FOUND, UNREADABLE = 0, 1, 2
"""Exit codes."""
_BEHIND = "read here is what the provider sent; what the client got"
_COUNTS = frozenset({Severity.ERROR, Severity.WARNING})


class Inspection:
    """What came of the paths so far."""

    def __init__(
        self,
        printer: Printer,
        saved: Callable[[str], Iterator[Saved]],
        keeps: Callable[[Finding], bool],
        dialects: Sequence[WireProtocol],
    ) -> None:
        """`saved` gives the answers in a file; `keeps` says which findings are wanted."""
        self._printer = printer
        self._keeps = keeps
        self._dialects = dialects
        self._found = False
        self._reading = Reading(saved, self._take)
        self._verdicts: list[SavedVerdict] = []
        self._judging = Judging(self._verdicts.append)

    def read(self, path: str) -> None:
        """Read a file, or all files of a folder."""
        self._reading.read(path)

    def close(self, *, exit_zero: bool) -> int:
        """Print what is left and give the exit code."""
        self._printer.close()
        if self._reading.failed:
            return UNREADABLE
        return FOUND if self._found and not exit_zero else CLEAN

    def _take(self, saved: Saved) -> bool:
        record = self._record(saved)
        self._judge(saved, record)
        if record is not None:
            self._found = self._found or any(one.severity in _COUNTS for one in record.findings)
        return record is not None

    def _record(self, saved: Saved) -> Record | None:
        hide = partial(redacted, secrets=saved.secrets)
        clock = _Clock(saved)
        sinks = self._printer.sinks(saved.exchange, hide, clock.now if saved.times else None)
        record = read_body(
            clock.chunks(),
            saved.exchange,
            broken=saved.broken,
            sinks=[_AsSaved(saved), _Sieve(self._keeps), *(_Kept(one, saved, self._keeps) for one in sinks)],
            dialects=self._dialects,
        )
        if record is not None:
            self._printer.add(record, hide)
            if record.calls and clock.body and any(one.severity in _COUNTS for one in record.findings):
                options = tried_repairs(Answer(saved.exchange, bytes(clock.body), saved.broken))
                if options:
                    self._printer.advised(saved.exchange.source, options)
        return record

    def _judge(self, saved: Saved, record: Record | None) -> None:
        """Say what the client made of the answers that this request follows."""
        self._judging.take(saved, record)
        for one in self._verdicts:
            self._printer.judged(one)
        self._verdicts.clear()


class _Clock:
    """Says when the chunk came that is being read, and keeps the body while options could be tried on it."""

    def __init__(self, saved: Saved) -> None:
        self._saved = saved
        self._now = 0
        self.body = bytearray()
        """Empty where it is too long."""
        self._room = MAX_BODY

    def _keep(self, chunk: bytes) -> None:
        if self._room < len(chunk):
            self.body.clear()
            self._room = 0
        else:
            self.body += chunk
            self._room -= len(chunk)

    def now(self) -> int:
        return self._now

    def chunks(self) -> Iterator[bytes]:
        for number, chunk in enumerate(self._saved.chunks):
            if self._saved.times:
                self._now = self._saved.times[number]
            self._keep(chunk)
            yield chunk


class _AsSaved(Sink):
    """Puts what the file says of a response into its record; stands before the sinks that print it."""

    def __init__(self, saved: Saved) -> None:
        self._saved = saved

    def ended(self, record: Record) -> None:
        saved = self._saved
        record.unwrapped = [*saved.unwrapped]
        record.findings = saved.all_findings(record.findings)
        record.faults = [*saved.faults]
        specs = ", ".join(one.spec for one in saved.faults if one.changes)
        if specs and saved.sent is not None:
            record.notes.append(Note(specs, f"{_BEHIND} had {_told(as_sent(saved))}"))


class _Sieve(Sink):
    """Takes findings that nobody wants out of a record; stands before the sinks that tell them."""

    def __init__(self, keeps: Callable[[Finding], bool]) -> None:
        self._keeps = keeps

    def ended(self, record: Record) -> None:
        record.findings = [finding for finding in record.findings if self._keeps(finding)]


class _Kept(Sink):
    """Hands a sink everything but the findings that nobody wants."""

    def __init__(self, sink: Sink, saved: Saved, keeps: Callable[[Finding], bool]) -> None:
        self._sink, self._saved, self._keeps = sink, saved, keeps
        self.live, self.each = sink.live, sink.each

    def found(self, finding: Finding) -> None:
        if self._saved.shows(finding) and self._keeps(finding):
            self._sink.found(finding)

    def begun(self, record: Record) -> None:
        self._sink.begun(record)

    def quiet(self, first: int, frames: int, size: int) -> None:
        self._sink.quiet(first, frames, size)

    def without_data(self, frame: Frame) -> None:
        self._sink.without_data(frame)

    def resolved(self, event: Event, said: EventContent, told: Sequence[ResolvedFragment]) -> None:
        self._sink.resolved(event, said, told)

    def on_each_skipped(self, event: Event, told: Sequence[ResolvedFragment], change: Change | None) -> None:
        self._sink.on_each_skipped(event, told, change)

    def changed(self, changed: Change) -> None:
        self._sink.changed(changed)

    def ended(self, record: Record) -> None:
        self._sink.ended(record)


def _told(got: Record | None) -> str:
    """What the client got, in a few words."""
    if got is None:
        return "nothing of an answer"
    names = ", ".join(dict.fromkeys(finding.name for finding in got.findings)) or "no findings"
    return f"{counted(got.events, 'event')}, {counted(len(got.calls), 'call')}, {names}"
