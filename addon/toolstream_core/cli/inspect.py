"""`toolstream inspect`: reads saved responses, and prints their calls and findings as text or JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from toolstream_core.cli.arguments import CANNOT, FAIL_ON, NOT_OK, OK, selected_codes
from toolstream_core.cli.output import Reading, printed_to
from toolstream_core.clients.advice import MAX_BODY, tried_repairs
from toolstream_core.clients.received import ReceivedBytes
from toolstream_core.engine.session import read_body
from toolstream_core.engine.sink import Sink
from toolstream_core.model import Finding, Note, Record, StreamFacts
from toolstream_core.printable import counted, word
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.redact import redacted
from toolstream_core.report import jsonform
from toolstream_core.report.columns import Blocks, Label, Paint, colour, plain, wants_colour
from toolstream_core.report.judging import Judging, as_sent
from toolstream_core.report.lines import EndLines, Hide, Lines
from toolstream_core.report.verdict import ReportedVerdict, advice_text, as_command
from toolstream_core.saved.exchange import Exchange
from toolstream_core.saved.files import STDIN, responses

type Write = Callable[[str], None]
type Elapsed = Callable[[], int] | None
type Shows = Callable[[Finding], bool] | None
"""Whether a finding is printed at its event; `None` for all."""
type Printer = TextPrinter | JsonPrinter
"""Returns sinks before a response is read, gets its record, and is closed at the end."""


class TextPrinter:
    """Lines as in the live log.

    `chunks`: chunk by chunk, or only the lines at the end; `None` is the first for a single
    stream, and the second for several, therefore the first stream's lines wait for a second stream.
    """

    def __init__(self, write: Write, *, chunks: bool | None = None, paint: Paint = plain) -> None:
        self._blocks = Blocks(write)
        self._chunks = chunks
        self._paint = paint
        self._long: list[str] = []
        self._short: list[str] = []
        self._waiting: list[str] | None = None
        """The first stream's chunk lines, while it is not known to be one of several."""
        self._first: list[str] = []
        self._counts: Counter[str] = Counter()
        self._tags: dict[str, str] = {}
        """The beginning of the lines of each source."""
        self._advice: dict[str, str] = {}
        """Helpful options for responses without a verdict, by their sources."""
        self._unrepaired = set[str]()
        """Names of the found defects of calls without a repair."""

    def sinks(self, exchange: StreamFacts, hide: Hide, elapsed: Elapsed, shows: Shows = None) -> Sequence[Sink]:
        """One sink that writes, or two that keep their lines until one is selected."""
        where = f"{exchange.host}{exchange.path.partition('?')[0]}"
        names = " ".join(word(hide(name)) for name in (exchange.source, where) if name)
        label = Label(f"#{self._counts['stream'] + 1}", names, status=exchange.status)
        self._tags[exchange.source] = label.tag

        def lines(make: type[Lines], write: Write) -> Lines:
            def hidden(line: str) -> None:
                write(hide(line))

            return make(hidden, label, elapsed=elapsed, paint=self._paint, hide=hide, syntax=as_command, shows=shows)

        if self._chunks is not None:
            return [lines(Lines if self._chunks else EndLines, self._blocks.line)]
        self._long, self._short = [], []
        if self._counts["stream"]:
            return [lines(EndLines, self._short.append)]
        return [lines(Lines, self._long.append), lines(EndLines, self._short.append)]

    def add(self, record: Record, hide: Hide) -> None:
        """Count it, and write its lines if they waited."""
        del hide
        self._counts.update(
            ["stream", *("call" for _ in record.calls), *(finding.severity.value for finding in record.findings)]
        )
        loud = (one for one in record.findings if one.severity.counts and one.call is not None)
        self._unrepaired.update(one.name for one in loud if one.repair is None)
        if self._chunks is not None:
            return
        if self._counts["stream"] == 1:
            self._waiting, self._first = self._long, self._short
            return
        self._release(self._first)
        self._write_all(self._short)

    def judged(self, verdict: ReportedVerdict) -> None:
        self._advice.pop(verdict.source, None)
        label = Label(self._tags[verdict.source])
        advice = advice_text(verdict.explained, as_command)
        lines = [*verdict.text.lines(label.begin(), label.tag, self._paint, advice)]
        if self._waiting is None:
            self._blocks.block(lines)
        else:
            self._waiting += lines
            self._first += lines

    def advised(self, source: str, options: str) -> None:
        """Keep it until there is a verdict, or the end."""
        self._advice[source] = options

    def close(self) -> None:
        """Write the waiting lines, the advice, and, for several streams, the totals."""
        if self._waiting is not None:
            self._release(self._waiting)
        for source, options in self._advice.items():
            self._blocks.block([f"{Label(self._tags[source]).begin()}→ {as_command(options)}"])
        if names := sorted(self._unrepaired):
            self._blocks.line(f"no repair of {', '.join(names)}: see toolstream explain {names[0]}")
        if self._counts["stream"] > 1:
            counted_names = ("stream", "call", "error", "warning", "note")
            self._blocks.line(", ".join(counted(self._counts[noun], noun) for noun in counted_names))

    def _release(self, lines: list[str]) -> None:
        if self._waiting is not None:
            self._waiting = None
            self._write_all(lines)

    def _write_all(self, lines: list[str]) -> None:
        for line in lines:
            self._blocks.line(line)


class JsonPrinter:
    """The document of `docs/inspect.schema.json`, in one line, when everything was read."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._streams: list[dict[str, Any]] = []

    def sinks(self, exchange: StreamFacts, hide: Hide, elapsed: Elapsed, shows: Shows = None) -> Sequence[Sink]:
        """The record has everything."""
        del exchange, hide, elapsed, shows
        return ()

    def add(self, record: Record, hide: Hide) -> None:
        self._streams.append({**jsonform.record_object(record, hide), "verdict": None})

    def judged(self, verdict: ReportedVerdict) -> None:
        for stream in self._streams:
            if stream["source"] == verdict.source:
                stream["verdict"] = verdict.object

    def advised(self, source: str, options: str) -> None:
        """The document has the repair of each finding."""

    def close(self) -> None:
        self._write(json.dumps(jsonform.document(self._streams)))


_AFTER = "read here is what the provider sent; what the client got"


class Inspection:
    """The results of the inspected paths."""

    def __init__(
        self,
        printer: Printer,
        saved: Callable[[str], Iterator[Exchange]],
        codes: frozenset[str],
        protocols: Sequence[WireProtocol],
    ) -> None:
        """`saved` returns the responses in a file; `codes` are those of the findings to report."""
        self._printer = printer
        self._codes = codes
        self._protocols = protocols
        self._found = set[str]()
        """The severities of the findings."""
        self._reading = Reading(saved, self._take)
        self._judging = Judging()

    def read(self, path: str) -> None:
        self._reading.read(path)

    def close(self, fail_on: str) -> int:
        """Print the rest and return the exit code; `fail_on` is a key of `FAIL_ON`."""
        self._printer.close()
        if self._reading.failed:
            return CANNOT
        return OK if self._found.isdisjoint(FAIL_ON[fail_on]) else NOT_OK

    def _take(self, saved: Exchange) -> bool:
        record = self._record(saved)
        for verdict in self._judging.take(saved, record):
            self._printer.judged(verdict)
        if record is not None:
            self._found.update(one.severity for one in record.findings)
        return record is not None

    def _record(self, saved: Exchange) -> Record | None:
        hide = partial(redacted, secrets=saved.secrets)
        clock = _Clock(saved)

        def shows(finding: Finding) -> bool:
            return finding.code in self._codes and saved.shows(finding)

        sinks = self._printer.sinks(saved.facts, hide, clock.now if saved.times else None, shows)
        record = read_body(
            clock.chunks(),
            saved.facts,
            broken=saved.broken,
            sinks=[_AsSaved(saved, self._codes), *sinks],
            protocols=self._protocols,
        )
        if record is not None:
            self._printer.add(record, hide)
            if record.calls and clock.body and any(one.severity.counts for one in record.findings):
                options = tried_repairs(ReceivedBytes(saved.facts, bytes(clock.body), saved.broken), saved.lost)
                if options:
                    self._printer.advised(saved.facts.source, options)
        return record


class _Clock:
    """The time of the current chunk, and the body if it is short enough to try options on it."""

    def __init__(self, saved: Exchange) -> None:
        self._saved = saved
        self._now = 0
        self.body = bytearray()
        """Empty if it is too long."""
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
    """Completes a record with the file's notes, and removes other findings; comes before the sinks that print it."""

    def __init__(self, saved: Exchange, codes: frozenset[str]) -> None:
        self._saved, self._codes = saved, codes

    def ended(self, record: Record) -> None:
        saved = self._saved
        saved.complete(record)
        record.findings = [one for one in record.findings if one.code in self._codes]
        specs = ", ".join(one.spec for one in saved.faults if one.changes)
        if specs and saved.sent is not None:
            record.notes.append(Note(specs, f"{_AFTER} had {_described(as_sent(saved))}"))


def _described(got: Record | None) -> str:
    """A short description of the response."""
    if got is None:
        return "nothing of a response"
    names = ", ".join(dict.fromkeys(finding.name for finding in got.findings)) or "no findings"
    return f"{counted(got.events, 'event')}, {counted(len(got.calls), 'call')}, {names}"


def run(args: argparse.Namespace) -> int:
    """Read all files, print their calls and findings, and return the exit code."""
    inputs = [Path(path) for path in args.paths if path != STDIN]
    with printed_to(args.output, inputs, force=args.force):
        inspection = Inspection(
            _printer(args), partial(responses, request=args.request), selected_codes(args), _protocols(args.protocol)
        )
        for path in args.paths:
            inspection.read(path)
        return inspection.close(args.fail_on)


def _printer(args: argparse.Namespace) -> Printer:
    live = args.paths == [STDIN]
    write = partial(print, flush=live)
    if args.format == "json":
        return JsonPrinter(write)
    terminal = sys.stdout.isatty()
    paint = colour if wants_colour(terminal=terminal, environment=dict(os.environ)) else plain
    return TextPrinter(write, chunks=True if live and args.chunks is None else args.chunks, paint=paint)


def _protocols(name: str | None) -> Sequence[WireProtocol]:
    """All protocols, or a single one that accepts every path and every frame."""
    return (
        tuple(
            replace(protocol, claims_every_path=True, recognise=lambda event, payload: True)  # noqa: ARG005
            for protocol in PROTOCOLS
            if protocol.name == name
        )
        or PROTOCOLS
    )
